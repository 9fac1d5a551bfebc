"""A benchmark from start to end: services, topics, one Spark session, rounds; then all is gone."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import psutil
from pyspark.sql import SparkSession
from rich.console import Console

from lake_assets.bench.ground import Ground
from lake_assets.bench.peers import MEASURES, USUAL, Peer, peers_of
from lake_assets.bench.report import BenchReport, Machine
from lake_assets.bench.rounds import play
from lake_assets.bench.topic import Topic, topic_of
from lake_assets.errors import SettingsError
from lake_assets.lake.session import start_session
from lake_assets.model.endpoints import Endpoints
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.services import control
from lake_assets.settings.schema import Settings

Announce = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a user may ask of a benchmark."""

    events: int = 2_000_000
    tables: tuple[int, ...] = (7,)
    """Numbers of games, a topic each."""

    runs: int = 3
    """Rounds that count."""

    only: tuple[str, ...] = USUAL


def run_bench(
    settings: Settings,
    options: Options,
    *,
    console: Console,
    announce: Announce,
    stop: Callable[[], bool] = lambda: False,
) -> BenchReport:
    """Measure the asked-for peers.

    Tables, checkpoints and the embedded services' data lie in a temporary home; the user's own
    broker and registry are used if `settings` name them.

    Raises:
        SettingsError: an option cannot be.
        LakeAssetsError: services, Spark or a peer cannot be used.
        KeyboardInterrupt: `stop` said so; all was put away as at the end.
    """
    _refuse(settings, options)
    machine = Machine(
        cpus=os.cpu_count() or 1,
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        load_before=round(os.getloadavg()[0], 2),
    )
    with _home(settings) as own:
        endpoints = control.up(own, console=console)
        with _session(own) as session:
            bench = _Bench(session, endpoints, own, options, announce, stop)
            sizes, runs = [], {}
            for tables in options.tables:
                announce(f"{tables} tables: {options.events:,} events on their way …")
                with topic_of(endpoints, tables=tables, events=options.events, stop=stop) as topic:
                    sizes.append(topic.value_bytes)
                    runs[tables] = bench.measure(topic, tables)
    return BenchReport(
        events=options.events,
        value_bytes=round(sum(sizes) / len(sizes)),
        machine=machine,
        runs=runs,
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    session: SparkSession
    endpoints: Endpoints
    settings: Settings
    options: Options
    announce: Announce
    stop: Callable[[], bool]

    def measure(self, topic: Topic, tables: int) -> dict[str, list[float]]:
        """Seconds of each run by measure, in the order of the peers."""

        def tell(turn: int, measure: str, seconds: float) -> None:
            when = f"run {turn}" if turn else "warm-up"
            self.announce(f"{tables} tables, {when}: {measure} {seconds:.1f} s")

        peers: list[Peer] = peers_of(self.options.only)
        found = play(peers, self.options.runs, partial(self._ground, topic), on_run=tell)
        return {m: found[m] for m in MEASURES if m in self.options.only}

    @contextmanager
    def _ground(self, topic: Topic) -> Iterator[Ground]:
        lake = self.settings.home / "lakes" / uuid4().hex
        # What the peer before wrote goes to disk on its own account, not on the next one's.
        os.sync()
        try:
            yield Ground(
                session=self.session,
                endpoints=self.endpoints,
                settings=self.settings.model_copy(update={"lake": lake}),
                feed=topic.feed,
                events=topic.events,
                stop=self.stop,
            )
        finally:
            shutil.rmtree(lake, ignore_errors=True)


def _refuse(settings: Settings, options: Options) -> None:
    unknown = [name for name in options.only if name not in MEASURES]
    if unknown:
        fact = f"{unknown[0]!r} is not measured"
        raise SettingsError("--only", fact, f"Choose from {', '.join(MEASURES)}")
    if not options.tables or min(options.tables) < 1:
        raise SettingsError("--tables", "is not a list of numbers", "Give some above 0: 7,100")
    if settings.kafka.options:
        raise SettingsError(
            "LAKE_ASSETS_KAFKA_OPTIONS",
            "are librdkafka's, and the plain Spark append of a benchmark cannot use them",
            "Unset it and LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS to use the embedded broker",
        )


@contextmanager
def _home(settings: Settings) -> Iterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="lake_assets-bench-") as folder:
        own = settings.model_copy(update={"home": Path(folder), "lake": None, "feeds": None})
        try:
            yield own
        finally:
            control.down(own)


@contextmanager
def _session(settings: Settings) -> Iterator[SparkSession]:
    session = start_session(settings, ensure_runtime(settings))
    try:
        yield session
    finally:
        session.stop()
