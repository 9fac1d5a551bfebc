"""What Dagster is told of a refresh: an event for each table that changed.

Who clicked on partitions gets an answer for each of them: one that is up to date is materialized as
that, so that it is never left as if it had not run, and one that is held up or has no silver yet is
observed, with the reason.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime

import dagster as dg

from lake_assets.defs.keys import gold_key, partition_of, silver_key
from lake_assets.defs.metadata import Metadata, refresh_metadata, table_metadata
from lake_assets.defs.reports import Event, results_of, told_scopes
from lake_assets.defs.told_columns import TableEvent, ToldColumns
from lake_assets.gold.column_lineage import ViewWords
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Refreshed, RefreshReport
from lake_assets.model.tables import EVERY_KEY
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of

Answer = Event | dg.AssetObservation

REFRESH, WHY = "refresh", "refresh_why"
"""The metadata that say what a refresh did, and for what reason."""


class Answers:
    """Events of one run over a feed's views."""

    def __init__(
        self,
        settings: Settings,
        feed: Feed,
        context: dg.AssetExecutionContext,
        *,
        is_to_each: bool,
    ) -> None:
        """Answer within a step.

        Args:
            settings: of the lake.
            feed: whose views.
            context: of the step.
            is_to_each: whether each partition that was asked for gets an answer; else those that
                changed, and, once, what others did before.
        """
        self._settings, self._feed, self._context = settings, feed, context
        self._is_to_each = is_to_each
        self._views = {view.name: view for view in feed.gold}
        self._answered: set[tuple[str, str]] = set()
        """Scopes and views."""

    def to(self, found: Refreshed) -> Iterator[Answer]:
        """What a refresh did, then what checks came to."""
        instance, run_id = self._context.instance, self._context.run.run_id
        silver = silver_key(self._settings, self._feed)
        yield from results_of(instance, run_id, silver, found.silver_checks)
        for report in found.reports:
            self._context.log.info("%s", report.seconds)
            yield from self._tables(report)
            for scope, reason in report.blocked.items():
                what = "the view" if scope == EVERY_KEY else scope
                self._context.log.warning("%s is left as it is: %s", what, reason)
        for name, results in found.gold_checks.items():
            asset = gold_key(self._settings, self._feed, self._views[name])
            yield from results_of(instance, run_id, asset, results)
        yield from self._held_up(found)

    def of_nothing(self, names: Collection[str], asked: Collection[str]) -> Iterator[Answer]:
        """The partitions that were asked for and of which no refresh told anything."""
        if not self._is_to_each:
            return
        for name in sorted(names):
            for scope in self._views[name].scopes(sorted(asked)):
                if (scope, name) not in self._answered:
                    yield self._observed(scope, name, "not computed", "it has no silver yet")

    def _tables(self, report: RefreshReport) -> Iterator[Answer]:
        lake = lake_of(self._settings)
        words = ViewWords(lake, self._feed)
        done = refresh_metadata(lake, self._feed, report)
        refreshed = {(r.key, r.view) for r in report.refreshed}
        current = {*report.up_to_date} if self._is_to_each else self._unseen(report)
        events, told = [], ToldColumns()
        for scope, name in sorted(refreshed | current):
            view = self._views[name]
            table, is_partition = self._feed.gold_table(view, scope), scope != EVERY_KEY
            metadata: Metadata = done.get(scope) or {
                **table_metadata(lake, table, words.of(view), is_partition=is_partition),
                REFRESH: dg.MetadataValue.text("up to date"),
                WHY: dg.MetadataValue.text("what it reads has not changed since it was computed"),
            }
            asset, partition = gold_key(self._settings, self._feed, view), partition_of(scope)
            events.append(TableEvent(asset=asset, partition=partition, metadata=metadata))
            self._answered.add((scope, name))
        for asset in {event.asset for event in events}:
            keys = {e.partition for e in events if e.asset == asset and e.partition}
            told.look_up(self._context.instance, asset, keys, now=datetime.now(UTC))
        yield from told.materializations(events)

    def _unseen(self, report: RefreshReport) -> set[tuple[str, str]]:
        """What is up to date, and Dagster has not been told of."""
        current: dict[str, set[str]] = {}
        for scope, name in report.up_to_date:
            current.setdefault(name, set()).add(scope)
        known = {
            name: told_scopes(
                self._settings, self._context.instance, self._feed, self._views[name], of
            )
            for name, of in current.items()
        }
        return {(scope, name) for scope, name in report.up_to_date if scope not in known[name]}

    def _held_up(self, found: Refreshed) -> Iterator[Answer]:
        if not self._is_to_each:
            return
        for report in found.reports:
            name = report.view
            for scope, reason in report.blocked.items():
                if name and (scope, name) not in self._answered:
                    self._answered.add((scope, name))
                    yield self._observed(scope, name, "left as it is", reason)

    def _observed(self, scope: str, name: str, what: str, why: str) -> dg.AssetObservation:
        return observed(gold_key(self._settings, self._feed, self._views[name]), scope, what, why)


def observed(asset: dg.AssetKey, scope: str, what: str, why: str) -> dg.AssetObservation:
    """That a view's table was not computed, and why."""
    return dg.AssetObservation(
        asset,
        partition=partition_of(scope),
        metadata={REFRESH: dg.MetadataValue.text(what), WHY: dg.MetadataValue.text(why)},
    )
