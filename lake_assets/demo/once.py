"""The demo that ends: produce, stream until caught up, refresh gold, check, report."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from rich.console import Console

from lake_assets.demo.setup import Options, demo_feeds, services_up
from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Judged
from lake_assets.model.tables import EVERY_KEY, Layer, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.simulator.of_feed import workload_of
from lake_assets.simulator.produce import produce
from lake_assets.sources.kafka.topics import end_offsets, ensure_topic
from lake_assets.streams.overview import TableOverview, overview
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.run import stream_events

OnPhase = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class OnceReport:
    """What one demo did, and what is in its lake now."""

    produced: int
    feed: str
    tables: list[TableOverview]
    dropped: int
    """Rows that an expectation dropped in this run."""

    judged: dict[tuple[str, str], Judged]
    """By game and expectation, in this run."""

    held: dict[str, str]
    """By game, or `EVERY_GAME` of views over all, what blocking failure kept gold as it was."""

    seconds: dict[str, float]
    """By phase."""

    def rows(self, table: TableRef) -> int:
        """Rows of a table; 0 if it is not there."""
        return sum(entry.rows for entry in self.tables if entry.table == table)

    def by_game(self, layer: Layer) -> dict[str, int]:
        """Rows of a layer's tables by game."""
        counts: Counter[str] = Counter()
        for table in self.tables:
            if table.table.layer is layer and table.key is not None:
                counts[table.key] += table.rows
        return dict(counts)


@dataclass
class _Clock:
    """Seconds by phase."""

    announce: OnPhase
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.announce(name)
        started = perf_counter()
        yield
        self.seconds[name] = round(perf_counter() - started, 3)


def run_once(
    settings: Settings, options: Options, *, console: Console, announce: OnPhase
) -> OnceReport:
    """Run the whole pipeline of the feed `games` once.

    A lake that is new starts with this run's events, whatever its topic held before; one that was
    there goes on where it was.

    Raises:
        LakeAssetsError: a part of the pipeline cannot be used.
    """
    clock = _Clock(announce)
    settings, (feed, *_) = demo_feeds(settings, options.games)
    with ExitStack() as services:
        with clock.phase("services"):
            endpoints = services.enter_context(services_up(settings, console))
        return _run(settings, feed, endpoints, options, clock)


def _run(
    settings: Settings, feed: Feed, endpoints: Endpoints, options: Options, clock: _Clock
) -> OnceReport:
    topic = feed.source.topics.names[0]
    with clock.phase("produce"):
        ensure_topic(endpoints, topic)
        feed = _from_here(feed, end_offsets(endpoints, topic))
        events = workload_of(feed, endpoints, options.games, seed=options.seed)
        produced = produce(endpoints, topic, events, options.script)
    with clock.phase("stream"):
        reports = [
            event
            for event in stream_events(
                settings, [feed], endpoints, owner="demo", until_caught_up=True
            )
            if isinstance(event, BatchReport)
        ]
    with clock.phase("refresh"):
        blocked = {
            scope: reason
            for report in refresh_gold(settings, feed).reports
            for scope, reason in report.blocked.items()
        }
    with clock.phase("check"):
        tables = overview(settings, feed, endpoints)
        lagging = [t.table.name for t in tables if t.lag_rows and not _is_held(t, blocked)]
        if lagging:
            raise StreamError(
                "demo", f"{', '.join(lagging)} lag behind their sources", "Run it again"
            )
    return OnceReport(
        produced=produced.events,
        feed=feed.feed,
        tables=tables,
        dropped=sum(sum(report.dropped.values()) for report in reports),
        judged=_sum_judged(reports),
        held=blocked,
        seconds=clock.seconds,
    )


def _is_held(one: TableOverview, held: dict[str, str]) -> bool:
    return one.table.layer is Layer.GOLD and (one.key or EVERY_KEY) in held


def _from_here(feed: Feed, offsets: dict[int, int]) -> Feed:
    kafka = feed.source.topics.model_copy(update={"starting_offsets": offsets})
    return feed.model_copy(update={"source": feed.source.model_copy(update={"kafka": kafka})})


def _sum_judged(reports: list[BatchReport]) -> dict[tuple[str, str], Judged]:
    seen: Counter[tuple[str, str]] = Counter()
    violated: Counter[tuple[str, str]] = Counter()
    for report in reports:
        for key, judged in report.judged.items():
            seen[key] += judged.seen
            violated[key] += judged.violated
    return {key: Judged(seen=seen[key], violated=violated[key]) for key in seen}
