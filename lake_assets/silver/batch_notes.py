"""A batch's report; what it says beyond its commits is noted in the journal before they are made.

A batch that a former process wrote and this one only finishes is not judged again; its report is
made from the note, so that no count is lost to a kill.
"""

import json
from collections.abc import Mapping, Sequence

from lake_assets.delta.commit import Batch, Commit
from lake_assets.model.origins import Origin
from lake_assets.model.reports import BatchReport, Judged, Span, Stage
from lake_assets.silver.demuxed import Demuxed


def note_of(demuxed: Demuxed) -> str:
    """The note that goes with a batch's commits."""
    judged = [
        [
            key,
            name,
            result.seen,
            result.violated,
            [[e.name, e.partition, e.offset] for e in result.examples],
        ]
        for (key, name), result in demuxed.judged.items()
    ]
    dropped = {key: outcome.dropped for key, outcome in demuxed.outcomes.items()}
    duplicates = dict(demuxed.duplicates)
    return json.dumps({"dropped": dropped, "judged": judged, "duplicates": duplicates})


def report_of(
    feed: str, batch: Batch, demuxed: Demuxed, span: Span | None, seconds: Mapping[str, float]
) -> BatchReport:
    """The report of a batch whose commits were made."""
    return BatchReport(
        feed=feed,
        stage=Stage.DEMUX,
        batch_id=batch.version,
        rows={table.name: written.rows for table, written in demuxed.written.items()},
        dropped={key: outcome.dropped for key, outcome in demuxed.outcomes.items()},
        duplicates=demuxed.duplicates,
        judged=demuxed.judged,
        seconds=seconds,
        files=sum(len(written.files) for written in demuxed.written.values()),
        span=span,
    )


def refused_report(
    feed: str, batch: Batch, violated: Mapping[tuple[str, str], Judged], span: Span | None
) -> BatchReport:
    """The report of a batch that violates an expectation that fails."""
    return BatchReport(
        feed=feed,
        stage=Stage.DEMUX,
        batch_id=batch.version,
        rows={},
        judged=violated,
        is_committed=False,
        span=span,
    )


def replayed(feed: str, batch: Batch, commits: Sequence[Commit], note: str) -> BatchReport:
    """The report of a batch that a former process wrote; an older release noted nothing."""
    noted = json.loads(note) if note else {"dropped": {}, "judged": []}
    return BatchReport(
        feed=feed,
        stage=Stage.DEMUX,
        batch_id=batch.version,
        rows={c.table.name: sum(f.rows for f in c.files) for c in commits if c.files},
        dropped=noted["dropped"],
        duplicates=noted.get("duplicates", {}),  # earlier releases knew none
        judged={
            (key, name): Judged(
                seen=seen, violated=violated, examples=tuple(Origin(*e) for e in examples)
            )
            for key, name, seen, violated, examples in noted["judged"]
        },
        files=sum(len(c.files) for c in commits),
    )
