"""Refreshes of gold views as runs: each view that is computed is a job, `<feed>.refresh.<view>`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.column_types import columns_of
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.errors import first_line
from lake_assets.gold.column_lineage import view_lineage
from lake_assets.lineage.datasets import DatasetName, of_place
from lake_assets.lineage.emitter import Emitter, emitter
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import RefreshReport, ViewRefresh
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.model.upstream import KEY, read_table
from lake_assets.model.view_lineage import Lineage
from lake_assets.settings.load import openlineage_namespace
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

_MOST_KEYS = 50
"""Keys whose tables a column of a view over all keys names; the run's inputs are all of them."""


@contextmanager
def told_of_refreshes(
    settings: Settings, feed: Feed, *, is_last: bool
) -> Iterator["RefreshLineage"]:
    """Tell of the refreshes of the block, which says when each begins and ends.

    What it raises is told of the view that had begun, and of none where none had.

    Args:
        settings: where the lake is.
        feed: whose views.
        is_last: wait a moment for what is to be sent: the process may end.
    """
    lineage = RefreshLineage(emitter(), settings, feed)
    try:
        yield lineage
    except BaseException as problem:
        lineage.failed(problem)
        raise
    finally:
        if is_last:
            lineage.flush()


@dataclass(frozen=True, slots=True)
class _Run:
    view: GoldView
    id: UUID = field(default_factory=uuid4)


class RefreshLineage:
    """Takes in what a refresh does; without an emitter it does nothing."""

    def __init__(self, out: Emitter | None, settings: Settings, feed: Feed) -> None:
        """Nothing has begun."""
        self._out, self._settings, self._feed = out, settings, feed
        self._run: _Run | None = None

    def began(self, view: GoldView) -> None:
        """Take in that a view is being computed."""
        if self._out is not None:
            self._run = _Run(view)
            self._tell(self._run, "START")

    def ended(self, view: GoldView, report: RefreshReport) -> None:
        """Take in what came of it."""
        run, self._run = self._run, None
        if self._out is None or (run is None and not report.refreshed):
            return
        if run is None:
            run = _Run(view)
            self._tell(run, "START")
        self._tell(run, "COMPLETE", done=report.refreshed)

    def failed(self, problem: BaseException) -> None:
        """Take in that it failed."""
        run, self._run = self._run, None
        if run is not None:
            self._tell(run, "FAIL", error=first_line(problem) or type(problem).__name__)

    def flush(self) -> None:
        """Wait a moment for what is to be sent."""
        if self._out is not None:
            self._out.flush()

    def _tell(
        self, run: _Run, state: str, done: Sequence[ViewRefresh] = (), error: str = ""
    ) -> None:
        what = _What(run=run, state=state, at=datetime.now(UTC), done=done, error=error)
        if self._out is not None:
            self._out.tell(lambda: _events(self._settings, self._feed, what))


@dataclass(frozen=True, kw_only=True, slots=True)
class _What:
    """What is told of a run, and when it was."""

    run: _Run
    state: str
    at: datetime
    done: Sequence[ViewRefresh]
    error: str


def _events(settings: Settings, feed: Feed, what: _What) -> Iterator[Any]:
    from lake_assets.lineage import events  # noqa: PLC0415 - brings OpenLineage's classes

    view = what.run.view
    told = events.Told(
        run=what.run.id,
        at=what.at,
        namespace=openlineage_namespace(),
        job=f"{feed.feed}.refresh.{view.name}",
        kind=events.Kind.REFRESH,
        sql=view.sql or "",
    )
    lake = lake_of(settings)
    upstream = _Upstream(lake, feed, view)
    lineage = view_lineage(lake, feed, view) if what.done else {}
    written = [_written(lake, feed, view, one, upstream, lineage) for one in what.done]
    read = upstream.of_all([one.key for one in what.done])
    yield from events.event(what.state, told, read, written, what.error)


class _Upstream:
    """Which tables a view reads, by what they are called in OpenLineage."""

    def __init__(self, lake: Store, feed: Feed, view: GoldView) -> None:
        self._lake, self._feed, self._view = lake, feed, view
        self._keys: dict[str, Sequence[str]] = {}

    def of_all(self, scopes: Sequence[str]) -> list[DatasetName]:
        """All that its tables of some keys are made of."""
        every = [EVERY_KEY] if self._view.is_over_all else keys_of(self._lake, self._feed)
        whole = scopes or every
        found = (name for scope in whole for name in self._of_scope(scope))
        return sorted(set(found))

    def _of_scope(self, scope: str) -> Iterator[DatasetName]:
        for source in self._view.sources:
            yield from self.names(source, scope)

    def names(self, source: Any, scope: str) -> Iterator[DatasetName]:  # noqa: ANN401 - QuerySource
        """The tables that one name in its query stands for."""
        key = "" if scope == EVERY_KEY else scope
        table = read_table(self._feed, source, key)
        if table.outside or KEY not in table.name:
            yield self._name(table)
            return
        whose = self._feed.feed_of(source.feed)
        if whose.feed not in self._keys:
            self._keys[whose.feed] = keys_of(self._lake, whose)
        for one in self._keys[whose.feed]:
            view = whose.view(source.view) if source.view else None
            yield self._name(whose.gold_table(view, one) if view else whose.silver_table(one))

    def _name(self, table: TableRef) -> DatasetName:
        return of_place(log_of(self._lake, table).folder)


def _written(
    lake: Store,
    feed: Feed,
    view: GoldView,
    done: ViewRefresh,
    upstream: _Upstream,
    lineage: Lineage,
) -> Any:  # noqa: ANN401 - of `events`, which is imported late
    from lake_assets.lineage import events  # noqa: PLC0415

    table = feed.gold_table(view, done.key)
    handle = open_table(lake, table)
    columns = columns_of(handle) if handle else ()
    return events.Written(
        name=of_place(log_of(lake, table).folder),
        rows=done.rows_written,
        version=handle.version() if handle else None,
        columns=[
            events.Column(
                name=one.name,
                type=one.type,
                comment=one.comment,
                made_from=[
                    (name, read.column)
                    for read in lineage[one.name]
                    for name in [*upstream.names(read.source, done.key)][:_MOST_KEYS]
                ]
                if one.name in lineage
                else None,
            )
            for one in columns
        ],
    )
