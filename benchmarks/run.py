"""A benchmark from start to end: services, topics, one Spark session, rounds; then all is gone."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import psutil
from rich.console import Console

from benchmarks.ground import Ground
from benchmarks.landed import files_below
from benchmarks.peers import MEASURES, USUAL, Peer, peers_of, who_runs
from benchmarks.report import BenchReport, Machine
from benchmarks.rounds import LONG_S, play
from benchmarks.sections import SECTIONS, USUAL_SECTIONS
from benchmarks.topic import Topic, topic_of
from benchmarks.venue import Announce, Options, Venue
from lake_assets.errors import SettingsError
from lake_assets.services import control
from lake_assets.settings.schema import Settings

ALL = (*MEASURES, *SECTIONS)
"""What `--only` may name."""


def run_bench(
    settings: Settings,
    options: Options,
    *,
    console: Console,
    announce: Announce,
    stop: Callable[[], bool] = lambda: False,
) -> BenchReport:
    """Measure what was asked for.

    Tables, checkpoints and the embedded services' data lie in a temporary home; the user's own
    broker and registry are used if `settings` name them.

    Raises:
        SettingsError: an option cannot be.
        LakeAssetsError: services, Spark or a peer cannot be used.
        KeyboardInterrupt: `stop` said so; all was put away as at the end.
    """
    options = replace(options, only=options.only or (*USUAL, *USUAL_SECTIONS))
    _refuse(settings, options)
    machine = Machine(
        cpus=os.cpu_count() or 1,
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        load_before=round(os.getloadavg()[0], 2),
    )
    with _home(settings) as own:
        endpoints = control.up(own, console=console)
        with closing(Venue(own, endpoints, options, announce, stop)) as venue:
            rounds = _Rounds(venue)
            if peers_of(options.only):
                for tables in options.tables:
                    rounds.add(tables)
                    venue.sweep()
            sections = []
            for name, measure in SECTIONS.items():
                if name in options.only:
                    sections.append(measure(venue))
                    venue.sweep()
    return BenchReport(
        events=options.events,
        value_bytes=round(sum(rounds.value_bytes) / max(1, len(rounds.value_bytes))),
        machine=machine,
        runs=rounds.runs,
        files=rounds.files,
        sections=sections,
        notes=tuple(dict.fromkeys(rounds.notes)),
    )


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The peers' rounds for one number of tables after the other."""

    venue: Venue
    value_bytes: list[int] = field(default_factory=list)
    runs: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    files: dict[int, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, tables: int) -> None:
        """Fill a topic and let all peers that can run over it."""
        venue, options = self.venue, self.venue.options
        peers, why_not = who_runs(options.only, tables)
        self.notes.extend(why_not)
        if not peers:
            return
        venue.announce(f"{tables} tables: {options.events:,} events on their way …")
        with topic_of(
            venue.endpoints, tables=tables, events=options.events, stop=venue.stop
        ) as topic:
            self.value_bytes.append(topic.value_bytes)
            self._play(topic, tables, peers)

    def _play(self, topic: Topic, tables: int, peers: Sequence[Peer]) -> None:
        options = self.venue.options
        files = self.files.setdefault(tables, {})

        def tell(turn: int, measure: str, seconds: float) -> None:
            when = f"run {turn}" if turn else "warm-up"
            self.venue.announce(f"{tables} tables, {when}: {measure} {seconds:.1f} s")

        played = play(
            [_counting(peer, files) for peer in peers],
            options.runs,
            partial(self.venue.ground, topic),
            warm_up=options.warm_up,
            on_run=tell,
        )
        self.notes.extend(
            f"{name} at {tables} tables: one run without warm-up, as it took over {LONG_S:.0f} s"
            for name in played.once
        )
        self.notes.extend(
            f"{name} at {tables} tables: did not do its work ({why})"
            for name, why in played.failed.items()
        )
        measured = played.seconds
        self.runs[tables] = {
            m: measured[m] for m in MEASURES if m in options.only and m in measured
        }


def _counting(peer: Peer, files: dict[str, int]) -> Peer:
    """The same peer, whose files are counted after the clock has stopped."""

    def run(ground: Ground) -> Mapping[str, float]:
        seconds = peer.run(ground)
        files[peer.name] = files_below(ground.settings.lake_dir)
        return seconds

    return replace(peer, run=run)


def _refuse(settings: Settings, options: Options) -> None:
    unknown = [name for name in options.only if name not in ALL]
    if unknown:
        fact = f"{unknown[0]!r} is not measured"
        raise SettingsError("--only", fact, f"Choose from {', '.join(ALL)}")
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
