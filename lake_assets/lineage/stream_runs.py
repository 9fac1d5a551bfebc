"""Streams as runs: each feed has two jobs, `<feed>.ingest` and `<feed>.demux`.

A run lasts as long as the streams do. It is told when its first batch is there, then once a minute
while there are batches, and when it ends; what was written is told summed up.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from lake_assets.delta.column_types import columns_of
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.errors import first_line
from lake_assets.lineage.datasets import DatasetName, of_place, of_source
from lake_assets.lineage.emitter import Emitter, emitter
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.model.tables import (
    Layer,
    TableRef,
    bronze_of,
    duplicates_of,
    erased_of,
    quarantine_of,
    waiting_of,
)
from lake_assets.settings.load import openlineage_namespace
from lake_assets.settings.schema import Settings
from lake_assets.silver.noted_columns import noted_columns_of
from lake_assets.storage.open_store import lake_of

EVERY_S = 60.0
"""Seconds between two events of a run. A batch ends every second; whoever keeps lineage stores each
event for good."""


@contextmanager
def told_of_streams(
    settings: Settings, feeds: Sequence[Feed], endpoints: Endpoints
) -> Iterator["StreamLineage"]:
    """Tell of the streams of the block: their end with it, and a failure that it raises."""
    lineage = StreamLineage(emitter(), settings, feeds, endpoints)
    error = ""
    try:
        yield lineage
    except Exception as problem:
        error = first_line(problem) or type(problem).__name__
        raise
    finally:
        lineage.end(error)


@dataclass(slots=True)
class _Run:
    feed: Feed
    stage: Stage
    told_at: float
    id: UUID = field(default_factory=uuid4)
    rows: Counter[str] = field(default_factory=Counter)
    """By table, since it was last told."""


class StreamLineage:
    """Takes in batches; without an emitter it does nothing. Threads may share it."""

    def __init__(
        self,
        out: Emitter | None,
        settings: Settings,
        feeds: Sequence[Feed],
        endpoints: Endpoints,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing has begun."""
        self._out, self._settings, self._clock = out, settings, clock
        self._feeds = {feed.feed: feed for feed in feeds}
        self._kafka = endpoints.kafka
        self._runs: dict[tuple[str, Stage], _Run] = {}
        self._lock = threading.Lock()

    def batch(self, report: BatchReport) -> None:
        """Take in a batch; takes microseconds."""
        if self._out is None or not report.is_committed:
            return
        stage = Stage.INGEST if report.stage is Stage.INGEST else Stage.DEMUX
        with self._lock:
            run = self._runs.get((report.feed, stage))
            is_new = run is None
            if run is None:
                run = _Run(self._feeds[report.feed], stage, self._clock())
                self._runs[report.feed, stage] = run
            run.rows.update(report.rows)
            if is_new:
                self._tell(run, "START")
            elif self._clock() - run.told_at >= EVERY_S:
                self._tell(run, "RUNNING")

    def end(self, error: str = "") -> None:
        """Tell that all runs are over, and wait a moment for that to be sent."""
        if self._out is None:
            return
        with self._lock:
            for run in self._runs.values():
                self._tell(run, "FAIL" if error else "COMPLETE", error)
            self._runs.clear()
        self._out.flush()

    def _tell(self, run: _Run, state: str, error: str = "") -> None:
        rows, run.rows, run.told_at = run.rows, Counter(), self._clock()
        what = _What(run=run, state=state, at=datetime.now(UTC), rows=rows, error=error)
        if self._out is not None:
            self._out.tell(lambda: _events(self._settings, self._kafka, what))


@dataclass(frozen=True, kw_only=True, slots=True)
class _What:
    """What is told of a run, and when it was."""

    run: _Run
    state: str
    at: datetime
    rows: Mapping[str, int]
    error: str


def _events(settings: Settings, kafka: str, what: _What) -> Iterator[Any]:
    from lake_assets.lineage import events  # noqa: PLC0415 - brings OpenLineage's classes

    run, feed = what.run, what.run.feed
    told = events.Told(
        run=run.id,
        at=what.at,
        namespace=openlineage_namespace(),
        job=f"{feed.feed}.{run.stage.value}",
        kind=events.Kind.STREAM,
    )
    bronze = of_place(log_of(lake_of(settings), bronze_of(feed.feed)).folder)
    read = [*of_source(feed, kafka)] if run.stage is Stage.INGEST else [bronze]
    written = [
        _written(settings, feed, _table(run, name), count, bronze)
        for name, count in sorted(what.rows.items())
    ]
    yield from events.event(what.state, told, read, written, what.error)


def _table(run: _Run, name: str) -> TableRef:
    beside = {one.name: one for one in (of(run.feed.feed) for of in _BESIDE)}
    return beside.get(name, TableRef(layer=Layer.SILVER, name=name))


_BESIDE = (bronze_of, quarantine_of, waiting_of, duplicates_of, erased_of)
"""All that a batch may write but silver."""


def _written(
    settings: Settings, feed: Feed, table: TableRef, rows: int, bronze: DatasetName
) -> Any:  # noqa: ANN401 - of `events`, which is imported late
    from lake_assets.lineage import events  # noqa: PLC0415

    lake = lake_of(settings)
    handle = open_table(lake, table)
    key = feed.tables.key_of_silver(table.name) if table.layer is Layer.SILVER else None
    made = noted_columns_of(settings, feed, key) if table.layer is Layer.SILVER else {}
    return events.Written(
        name=of_place(log_of(lake, table).folder),
        rows=rows,
        version=handle.version() if handle else None,
        columns=[
            events.Column(
                name=one.name,
                type=one.type,
                comment=one.comment,
                made_from=[(bronze, f"value.{read}") for read in made[one.name].reads]
                if one.name in made
                else None,
            )
            for one in (columns_of(handle) if handle else ())
        ],
    )
