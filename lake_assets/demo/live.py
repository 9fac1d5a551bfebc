"""The demo that goes on: simulators and `dagster dev` side by side, until it is told to stop.

Dagster's supervisor starts the streams and its schedules refresh gold; nothing here does.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from lake_assets.demo.dagster_dev import dagster_dev
from lake_assets.demo.setup import FEED, Options, demo_feeds, services_up
from lake_assets.errors import ServiceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.model.tables import Layer, bronze_of
from lake_assets.runtime.file_lock import try_lock
from lake_assets.settings.schema import Settings
from lake_assets.simulator.of_feed import workload_of
from lake_assets.simulator.produce import Progress, produce
from lake_assets.state.files import current_heartbeat, ensure_writable
from lake_assets.streams.overview import TableOverview, overview

_PAUSES = 9
"""How long to wait after a snapshot, in its own duration: it reads each table's log, and streams
need the cores more. At 40 keys one takes a second of CPU on a busy machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyRow:
    """One line of the live table."""

    feed: str
    key: str
    silver_rows: int
    gold_rows: int
    refreshed_at: datetime | None
    """Last refresh of the key's gold, UTC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What the live table shows."""

    url: str
    produced: int
    """Events that this run has produced."""

    bronze_rows: int
    quarantined: int
    lag_rows: int | None
    """Events of the topics that are not in bronze yet."""

    keys: tuple[KeyRow, ...]
    """Of all feeds."""

    streams: str
    """How the streams are, in words."""


def run_live(
    settings: Settings,
    options: Options,
    *,
    console: Console,
    stop: threading.Event,
    show: Callable[[Snapshot], None],
    every_s: float,
) -> None:
    """Run the demo until `stop` is set, then stop all that it started.

    Args:
        settings: home and lake.
        options: what to produce.
        console: for progress bars.
        stop: ends the demo.
        show: gets a snapshot every `every_s` seconds, or less often where one takes long.
        every_s: seconds between snapshots, at the least.

    Raises:
        LakeAssetsError: another one runs with this home, a part cannot be started, or the simulator
            failed.
    """
    settings, feeds = demo_feeds(settings, options.games)
    with ExitStack() as stack:
        stack.enter_context(_alone(settings.home))
        endpoints = stack.enter_context(services_up(settings, console))
        simulators = [_Simulator(endpoints, feed, options) for feed in feeds]
        for simulator in simulators:
            stack.callback(simulator.stop)
            simulator.start()
        url = stack.enter_context(dagster_dev(settings))
        while True:
            began = time.monotonic()
            sent = sum(simulator.sent for simulator in simulators)
            show(_snapshot(settings, feeds, endpoints, url, sent))
            for simulator in simulators:
                simulator.raise_failure()
            took = time.monotonic() - began
            if stop.wait(max(every_s, took * _PAUSES)):
                return


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Keep a second demo off a home: both would set up one Dagster, and end each other's parts."""
    ensure_writable(home)
    with try_lock(home / "demo.lock") as is_ours:
        if not is_ours:
            step = "Stop that one first, or give this one another (--home, LAKE_ASSETS_HOME)"
            raise ServiceError("demo", f"one runs already with the home {home}", step)
        yield


class _Simulator:
    """A feed's producer in a thread of its own."""

    def __init__(self, endpoints: Endpoints, feed: Feed, options: Options) -> None:
        self.sent = 0
        self._endpoints = endpoints
        self._feed = feed
        self._options = options
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"simulator-{feed.feed}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        options = self._options
        keys = options.games if self._feed.feed == FEED else ()
        try:
            produce(
                self._endpoints,
                self._feed.source.topics.names[0],
                workload_of(self._feed, self._endpoints, keys, seed=options.seed),
                options.script,
                on_progress=self._note,
                stop=self._stop.is_set,
            )
        except Exception as problem:  # noqa: BLE001 - raised again in the demo's own thread
            self._failure = problem

    def _note(self, progress: Progress) -> None:
        self.sent = progress.sent


def _snapshot(
    settings: Settings, feeds: Sequence[Feed], endpoints: Endpoints, url: str, produced: int
) -> Snapshot:
    tables = {feed.feed: overview(settings, feed, endpoints) for feed in feeds}
    every = [table for of_feed in tables.values() for table in of_feed]
    raw = {bronze_of(feed.feed) for feed in feeds}
    bronze = [table for table in every if table.table in raw]
    lags = [table.lag_rows for table in bronze if table.lag_rows is not None]
    return Snapshot(
        url=url,
        produced=produced,
        bronze_rows=sum(table.rows for table in bronze),
        quarantined=sum(t.rows for t in every if t.table.layer is Layer.QUARANTINE),
        lag_rows=sum(lags) if lags else None,
        keys=tuple(row for feed, of_feed in tables.items() for row in _key_rows(feed, of_feed)),
        streams=streams_in_words(
            current_heartbeat(settings.state_dir),
            now=time.monotonic(),
            late_s=5 * settings.stream.heartbeat_every_s,
        ),
    )


def _key_rows(feed: str, tables: Sequence[TableOverview]) -> list[KeyRow]:
    keys = dict.fromkeys(table.key for table in tables if table.key is not None)
    rows = []
    for key in keys:
        key_tables = [table for table in tables if table.key == key]
        gold = [table for table in key_tables if table.table.layer is Layer.GOLD]
        rows.append(
            KeyRow(
                feed=feed,
                key=key,
                silver_rows=sum(t.rows for t in key_tables if t.table.layer is Layer.SILVER),
                gold_rows=sum(table.rows for table in gold),
                refreshed_at=max((table.committed_at for table in gold), default=None),
            )
        )
    return rows


def streams_in_words(beat: Heartbeat | None, *, now: float, late_s: float) -> str:
    """How the streams are, by their heartbeat.

    Args:
        beat: the last one of this boot.
        now: a `time.monotonic()`.
        late_s: seconds after which a heartbeat is late.
    """
    if beat is None:
        return "starting"
    if beat.waiting_for:
        return f"waiting: {beat.waiting_for}"
    if now - beat.at >= late_s:
        return f"silent for {now - beat.at:.0f} s"
    still = ", ".join(sorted({*beat.stopped, *beat.stopped_by}))
    return f"running, but not {still}" if still else "running"
