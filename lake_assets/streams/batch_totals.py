"""What happened to each table since the last report, so that reports cost less than batches. Pure.

A batch ends every second and touches any number of keys; each report of a key costs its reader
milliseconds. So counts add up here, and come out every so often and a few at a time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lake_assets.model.feeds import Feed
from lake_assets.model.reports import (
    BatchReport,
    CheckResult,
    Judged,
    Refreshed,
    Stage,
    ViewRefresh,
)
from lake_assets.model.tables import (
    TableRef,
    bronze_of,
    duplicates_of,
    erased_of,
    quarantine_of,
    waiting_of,
)

_Key = tuple[str, TableRef]

_EXAMPLES = 3
"""Origins shown of the rows that violate an expectation; the first there were."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How quickly what changed a table went, and how far behind it was."""

    batches: int = 1
    seconds: float = 0.0
    """Of all of them."""

    lag_rows: int | None = None
    """After the last of them; None if that is not known."""

    lag_s: float | None = None

    def plus(self, later: "Pace") -> "Pace":
        """Both together."""
        return replace(
            later, batches=self.batches + later.batches, seconds=self.seconds + later.seconds
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What happened to one table since it was last reported."""

    feed: str
    table: TableRef
    key: str | None = None
    """Whose silver or gold table it is; None of bronze and quarantine."""

    rows: int = 0
    """Rows added."""

    dropped: int = 0
    duplicates: int = 0
    """Rows left out since their event was there."""

    judged: Mapping[str, Judged] = field(default_factory=dict)
    """By expectation."""

    refresh: ViewRefresh | None = None
    """Of a view's table, whose key is `EVERY_KEY` if it is over all: the newest one, with the rows
    of all."""

    results: Mapping[str, CheckResult] = field(default_factory=dict)
    """By check of the whole table, the newest."""

    pace: Pace | None = None
    """Of the batches or refreshes; None if nothing is known of it."""

    @property
    def events(self) -> int:
        """How many of Dagster's events tell of it."""
        return 1 + len(self.judged) + len(self.results)

    @property
    def verdicts(self) -> Mapping[str, bool]:
        """By expectation and check, whether it is met."""
        judged = {name: not judged.violated for name, judged in self.judged.items()}
        return judged | {name: result.passed for name, result in self.results.items()}

    @property
    def is_finding(self) -> bool:
        """Whether it is only known how rows were judged: none of them came into the table."""
        is_judged = bool(self.judged or self.results)
        gone = self.dropped or self.duplicates
        return is_judged and not self.rows and not gone and self.refresh is None

    def plus(self, other: "Change") -> "Change":
        """Both changes of one table together."""
        judged = dict(self.judged)
        for name, more in other.judged.items():
            before = judged.get(name, Judged(seen=0, violated=0))
            judged[name] = Judged(
                seen=before.seen + more.seen,
                violated=before.violated + more.violated,
                examples=(before.examples + more.examples)[:_EXAMPLES],
            )
        return replace(
            self,
            rows=self.rows + other.rows,
            dropped=self.dropped + other.dropped,
            duplicates=self.duplicates + other.duplicates,
            judged=judged,
            refresh=_together(self.refresh, other.refresh),
            results={**self.results, **other.results},
            pace=_paces(self.pace, other.pace),
        )


def _paces(first: Pace | None, then: Pace | None) -> Pace | None:
    return first.plus(then) if first and then else then or first


def _together(first: ViewRefresh | None, then: ViewRefresh | None) -> ViewRefresh | None:
    if first is None or then is None:
        return then or first
    return replace(
        then,
        rows_read=first.rows_read + then.rows_read,
        rows_written=first.rows_written + then.rows_written,
    )


RAREST_S = 600.0
"""Seconds between two reports at most, however many tables there are."""

_DAY_S = 86_400.0


class BatchTotals:
    """Adds up changes, and hands them out when they are due."""

    def __init__(self, *, every_s: float, at_most: int, events_a_day: float) -> None:
        """Prepare for reports.

        A table's first change is due at once, so that somebody who waits for it sees it. What
        changes the verdict of a check is due after `every_s`.

        Args:
            every_s: seconds between two reports at least.
            at_most: changes at once.
            events_a_day: that reports come to, about; where they would be more, reports come more
                rarely, up to `RAREST_S` apart.
        """
        self._every_s = every_s
        self._at_most = at_most
        self._event_s = _DAY_S / events_a_day
        self._next_at = self._next_news_at = 0.0
        self._told: dict[_Key, dict[str, bool]] = {}
        self._pending: dict[_Key, Change] = {}
        self._due: list[Change] = []
        self._known: set[_Key] = set()

    def add(self, changes: Iterable[Change]) -> None:
        """Count these changes in."""
        for change in changes:
            key = (change.feed, change.table)
            before = self._pending.get(key)
            self._pending[key] = before.plus(change) if before else change

    def take(self, now: float) -> list[Change]:
        """The changes to report now, at most so many; the others come with the next calls."""
        if not self._due:
            self._due = self._due_at(now)
        taken, self._due = self._due[: self._at_most], self._due[self._at_most :]
        return taken

    def rest(self) -> list[Change]:
        """All changes that were not handed out, due or not."""
        due, self._due = self._due, []
        pending, self._pending = self._pending, {}
        return due + [pending[key] for key in sorted(pending)]

    def _due_at(self, now: float) -> list[Change]:
        keys = set(self._pending) - self._known
        if now >= self._next_at and self._pending:
            keys = set(self._pending)
            events = sum(change.events for change in self._pending.values())
            pause_s = min(RAREST_S, events * self._event_s)
            self._next_at = now + max(self._every_s, pause_s)
            self._next_news_at = now + self._every_s
        elif now >= self._next_news_at:
            news = {key for key, change in self._pending.items() if self._is_news(key, change)}
            if news:
                keys |= news
                self._next_news_at = now + self._every_s
        self._known |= keys
        due = [self._pending.pop(key) for key in sorted(keys)]
        for key, change in zip(sorted(keys), due, strict=True):
            self._told.setdefault(key, {}).update(change.verdicts)
        return due

    def _is_news(self, key: _Key, change: Change) -> bool:
        """Whether a check of a table is met that was not, or the other way round."""
        told = self._told.get(key, {})
        return any(told.get(name) != met for name, met in change.verdicts.items())


def changes_of(feed: Feed, report: BatchReport) -> list[Change]:
    """A report of a feed's batch by table; tables without rows, kept, lost or judged, are left out.

    A batch that an expectation refused, or one whose rows of a key all went to quarantine, is a
    finding about that key's table all the same.
    """
    if report.stage is Stage.INGEST:
        table = bronze_of(feed.feed)
        rows = report.rows.get(table.name, 0)
        pace = _pace_of(report)
        return [Change(feed=feed.feed, table=table, rows=rows, pace=pace)] if rows else []
    quarantine = quarantine_of(feed.feed)
    refused = report.rows.get(quarantine.name, 0)
    changes = [_of_key(feed, report, key) for key in sorted(_keys(feed, report))]
    if refused:
        pace = _pace_of(report)
        changes.append(Change(feed=feed.feed, table=quarantine, rows=refused, pace=pace))
    return [c for c in changes if c.rows or c.dropped or c.duplicates or c.judged]


def changes_of_gold(feed: Feed, done: Refreshed) -> list[Change]:
    """What a refresh of some of a feed's views came to, by table."""
    views = {view.name: view for view in feed.gold}
    changes = [
        Change(
            feed=feed.feed,
            table=feed.gold_table(views[refresh.view], refresh.key),
            key=refresh.key,
            rows=refresh.rows_written,
            refresh=refresh,
            pace=Pace(seconds=sum(report.seconds.values())) if report.seconds else None,
        )
        for report in done.reports
        for refresh in report.refreshed
    ]
    results = [*done.silver_checks, *(r for of_view in done.gold_checks.values() for r in of_view)]
    return changes + [
        Change(feed=feed.feed, table=r.table, key=r.key, results={r.name: r}) for r in results
    ]


def _keys(feed: Feed, report: BatchReport) -> set[str]:
    """Keys of a demux report; one of a batch that was only finished names nothing but tables."""
    named = {key for key, _ in report.judged} | set(report.dropped) | set(report.duplicates)
    beside = (quarantine_of, waiting_of, duplicates_of, erased_of)
    aside = {table_of(feed.feed).name for table_of in beside}
    keys = map(feed.tables.key_of_silver, set(report.rows) - aside)
    return named | {key for key in keys if key is not None}


def _of_key(feed: Feed, report: BatchReport, key: str) -> Change:
    table = feed.silver_table(key)
    return Change(
        feed=feed.feed,
        table=table,
        key=key,
        rows=report.rows.get(table.name, 0),
        dropped=report.dropped.get(key, 0),
        duplicates=report.duplicates.get(key, 0),
        judged={name: judged for (of, name), judged in report.judged.items() if of == key},
        pace=_pace_of(report),
    )


def _pace_of(report: BatchReport) -> Pace | None:
    if not report.seconds:
        return None
    seconds = sum(report.seconds.values())
    return Pace(seconds=seconds, lag_rows=report.lag_rows, lag_s=report.lag_s)
