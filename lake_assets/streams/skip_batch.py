"""Skipping a batch that somebody asked to skip: its rows are put aside, and the feed goes on.

Demux's rows go from bronze to quarantine as they are. What becomes of ingest's, which are not in
bronze, is `streams.skip_ingest`'s.
"""

import logging
import sys

from deltalake.exceptions import DeltaError

from lake_assets.delta.commit import Commit
from lake_assets.delta.increments import Increment, next_increment
from lake_assets.delta.origins import Before, NotIn
from lake_assets.delta.source_offsets import furthest, offsets_of_rows
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.demux_position import POSITION, Position, batch_of, demux_app
from lake_assets.silver.recovery import Recovered
from lake_assets.silver.set_aside import set_aside, skipped_since
from lake_assets.state.batch_strikes import Strikes, forget_strikes, read_strikes, strikes_file
from lake_assets.state.erasing_fence import while_planned
from lake_assets.streams.demux_loop import begin_of, tables_of_silver
from lake_assets.streams.pipeline import Pipeline, recovery_of
from lake_assets.streams.progress import sources_in
from lake_assets.streams.skip_ingest import skip_ingest
from lake_assets.streams.skip_request import end_request, is_asked_to_skip, withdraw_outdated

_LOG = logging.getLogger(__name__)


def skip_asked_batches(pipeline: Pipeline, feed: Feed) -> None:
    """Skip the batches of a feed that somebody asked to skip, if they are still those to come next.

    Raises:
        StreamError: the batch's range cannot be told from others' any more.
        SourceError: the source cannot be asked.
        LakeError: the lake cannot be read or written.
    """
    for stage, skip in ((Stage.INGEST, skip_ingest), (Stage.DEMUX, _skip_demux)):
        state_dir, counts = pipeline.state_dir, strikes_file(pipeline.state_dir, feed.feed, stage)
        strikes = read_strikes(counts)
        begin = strikes.batch.begin if strikes is not None else None
        if not is_asked_to_skip(state_dir, feed, stage, begin) or strikes is None:
            continue
        with while_planned(state_dir, feed.feed):
            is_skipped = skip(pipeline, feed, strikes)
        forget_strikes(counts)
        if is_skipped:
            end_request(state_dir, feed, stage)
        else:
            withdraw_outdated(state_dir, feed, stage)


def _skip_demux(pipeline: Pipeline, feed: Feed, strikes: Strikes) -> bool:
    """Whether the batch still came next."""
    recovered, until = _recovered(pipeline, feed), int(strikes.batch.end)
    if begin_of(recovered.position) != strikes.batch.begin:
        return False
    try:
        found = _range(pipeline, feed, recovered.position, until)
    except DeltaError as problem:
        raise StreamError(
            f"demux of feed {feed.feed!r}",
            f"the log of {bronze_of(feed.feed).name} no longer tells the rows of "
            f"{strikes.batch.words} from later ones",
            "Run `lake-assets stream --retry-batch` for the feed, and skip what fails then",
        ) from problem
    if found is not None:
        _set_aside(pipeline, feed, recovered, found, strikes)
    return True


def _recovered(pipeline: Pipeline, feed: Feed) -> Recovered:
    recovery = recovery_of(pipeline, feed)
    bronze = pipeline.context.committer.fresh(bronze_of(feed.feed))
    return recovery.run(tables_of_silver(pipeline.context.lake, feed), bronze)


def _range(pipeline: Pipeline, feed: Feed, position: Position, until: int) -> Increment | None:
    """What came to bronze after a position up to a version; raises `DeltaError` if that is gone."""
    return next_increment(
        log_of(pipeline.context.lake, bronze_of(feed.feed)),
        sources_in(feed, position),
        position.bronze,
        taken=position.offsets,
        max_bytes=sys.maxsize,
        until=until,
    )


def _set_aside(
    pipeline: Pipeline, feed: Feed, recovered: Recovered, found: Increment, strikes: Strikes
) -> None:
    """Put an increment's rows into quarantine, as a batch of demux that no other table gets."""
    position = recovered.position
    origin, log = feed.source.origin, log_of(pipeline.context.lake, bronze_of(feed.feed))
    keep = None if found.is_exact else NotIn(Before(position.offsets, origin))
    offsets = found.offsets or (offsets_of_rows(log, found.files, origin) if found.files else {})
    why = skipped_since(f"it failed: {strikes.cause}")
    files = set_aside(pipeline.context, feed, found.files, keep, why)
    reached = Position(
        number=position.number + 1,
        bronze_id=position.bronze_id,
        bronze=found.until,
        offsets=furthest([position.offsets, offsets if found.files else {}]),
        tables=checksum(recovered.numbers),
    )
    rows = sum(file.rows for file in files)
    quarantine = quarantine_of(feed.feed)
    info = {"rows": str(rows), POSITION: reached.to_json()}
    commit = Commit(table=quarantine, files=files, info=info)
    pipeline.context.committer.append([commit], batch_of(feed.feed, reached.number))
    _LOG.warning("demux of feed %r skipped %s: %d rows", feed.feed, strikes.batch.words, rows)
    pipeline.report(
        BatchReport(
            feed=feed.feed,
            stage=Stage.DEMUX,
            batch_id=reached.number,
            rows={quarantine.name: rows} if rows else {},
            files=len(files),
            span=Span(
                query=f"{demux_app(feed.feed)}:{position.bronze_id}",
                version_from=position.bronze.version + 1,
                version_to=found.until.version + 1,
            ),
        )
    )
