"""What streams do, as lines of the log: a sentence each, and the facts in it as fields."""

import logging
from typing import Any

from lake_assets.model.reports import (
    BatchReport,
    DeliveryReport,
    GoldRefreshed,
    RefreshReport,
    SinkEvent,
    SinkFailed,
    ViewFailed,
    Waiting,
)
from lake_assets.streams.run import StreamEvent

_LOG = logging.getLogger(__name__)

REFRESH, DELIVER = "refresh", "deliver"


class EventLog:
    """Logs the events of streams; the same waiting is said once."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._waiting = ""

    def add(self, event: StreamEvent) -> None:
        """Log an event, if there is something to say."""
        if isinstance(event, Waiting):
            if event.reason != self._waiting:
                self._waiting = event.reason
                _say(f"waiting: {event.reason}", feed=event.feed, stage=event.stage.value)
        elif isinstance(event, BatchReport):
            self._waiting = ""
            _say_batch(event)
        elif isinstance(event, ViewFailed):
            _LOG.error(
                "view %s of %s: %s",
                event.view,
                event.feed,
                event.reason,
                extra={"feed": event.feed, "stage": REFRESH, "view": event.view},
            )
        elif isinstance(event, (DeliveryReport, SinkFailed)):
            _say_of_sink(event)
        elif isinstance(event, GoldRefreshed):
            for report in event.refreshed.reports:
                _say_refresh(event.feed, report)


def _say_batch(report: BatchReport) -> None:
    rows, tables = sum(report.rows.values()), len(report.rows)
    seconds = sum(report.seconds.values())
    _say(
        f"{report.feed} {report.stage} batch {report.batch_id}: {rows:,} rows into "
        f"{tables} tables in {seconds:.1f} s",
        feed=report.feed,
        stage=report.stage.value,
        batch=report.batch_id,
        rows=rows,
        tables=tables,
        # A batch may have written a thousand: their names are in Dagster and in the tables' logs.
        **({"table": next(iter(report.rows))} if tables == 1 else {}),
        dropped=sum(report.dropped.values()),
        duplicates=sum(report.duplicates.values()),
        files=report.files,
        seconds={phase: round(took, 4) for phase, took in report.seconds.items()},
        committed=report.is_committed,
    )


def _say_of_sink(report: SinkEvent) -> None:
    if isinstance(report, SinkFailed):
        facts = {"feed": report.feed, "stage": DELIVER, "sink": report.sink}
        _LOG.error("sink %s of %s: %s", report.sink, report.feed, report.reason, extra=facts)
        return
    _say(
        f"{report.feed} sink {report.sink}: {report.rows:,} rows by {report.calls:,} calls in "
        f"{report.seconds:.1f} s, {report.dead_rows:,} are dead letters",
        feed=report.feed,
        stage=DELIVER,
        sink=report.sink,
        rows=report.rows,
        calls=report.calls,
        retries=report.retries,
        dead_rows=report.dead_rows,
        latency_s={name: round(took, 4) for name, took in report.latency_s.items()},
    )


def _say_refresh(feed: str, report: RefreshReport) -> None:
    if not report.refreshed:
        return
    view, read = report.refreshed[0].view, sum(one.rows_read for one in report.refreshed)
    seconds = sum(report.seconds.values())
    _say(
        f"{feed} view {view}: {read:,} rows into {len(report.refreshed)} tables in {seconds:.1f} s",
        feed=feed,
        stage=REFRESH,
        view=view,
        rows=read,
        tables=len(report.refreshed),
        seconds={phase: round(took, 4) for phase, took in report.seconds.items()},
    )


def _say(text: str, **facts: Any) -> None:  # noqa: ANN401 - whatever JSON takes
    _LOG.info("%s", text, extra=facts)
