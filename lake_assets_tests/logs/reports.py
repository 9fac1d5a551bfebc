"""Batches and when they happened, for tests of the logs."""

from datetime import UTC, datetime

from lake_assets.model.reports import BatchReport, Judged, Span, Stage

AT = datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)


def ingested(batch: int, *, rows: int = 5, query: str = "i") -> BatchReport:
    """A batch of ingest that took five offsets of partition 0."""
    span = Span(
        query=query, offsets_from={("t", 0): 5 * batch}, offsets_to={("t", 0): 5 * batch + 5}
    )
    return BatchReport(
        feed="games",
        stage=Stage.INGEST,
        batch_id=batch,
        rows={"bronze_games": rows},
        seconds={"job": 0.5, "commit": 0.25},
        files=2,
        span=span,
    )


def demuxed(batch: int, *, is_committed: bool = True) -> BatchReport:
    """A batch of demux in which one of three rows of a game was dropped."""
    return BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=batch,
        rows={"silver_uno_events": 2} if is_committed else {},
        dropped={"uno": 1} if is_committed else {},
        judged={("uno", "gamer_is_known"): Judged(seen=3, violated=1)},
        span=Span(query="d", version_from=batch, version_to=batch + 1),
        is_committed=is_committed,
    )
