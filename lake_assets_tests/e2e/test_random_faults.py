"""Random sequences of events, faults and repairs, held against a model of each event's place.

Bounded here; `--sequences 200 --steps 40` makes a long run (`docs/guarantees.md` has its figures).
"""

import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import ClassVar

import duckdb
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, Phase, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from pyspark.sql import SparkSession

from lake_assets.errors import StreamError
from lake_assets.lake.commits import CommitDoor
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Route
from lake_assets.model.tables import Layer, bronze_of, quarantine_of, silver_of
from lake_assets.settings.schema import Settings
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

GAMES = ("uno", "go_fish", "chess")

DECLARED = frozenset({"uno", "go_fish"})
"""Games that the feed has at first; rows of chess are quarantined until it is added."""

QUARANTINE = quarantine_of("games")

POINTS = ("before", "half", "last")

Place = tuple[int, int]


class KilledError(Exception):
    """Stands for the end of a process in the midst of a batch."""


class Doomed(CommitDoor):
    """A door that goes down with the first batch that it is given rows of."""

    point = "before"

    def append(self, commits, batch):
        is_batch = "redo" not in batch.app_id and any(commit.files for commit in commits)
        is_last = any(commit.table.layer is Layer.QUARANTINE for commit in commits)
        if is_batch and self.point == "before":
            raise KilledError
        if is_batch and self.point == "half" and not is_last:
            super().append(commits[: len(commits) // 2], batch)
            raise KilledError
        if is_last and self.point == "last":
            raise KilledError
        return super().append(commits, batch)


@dataclass
class Model:
    """Where each event is to be: a game's table, quarantine, or nowhere since it was deleted."""

    games: frozenset[str] = DECLARED
    placed: dict[Place, str] = field(default_factory=dict)

    def copy(self):
        return Model(self.games, dict(self.placed))


_HOMES = count()


class Machine(RuleBasedStateMachine):
    """What may happen to a lake; `bound_to` gives it what the run shares."""

    spark: ClassVar[SparkSession]
    services: ClassVar[Endpoints]
    homes: ClassVar[Path]
    steps: ClassVar[Counter[str]]

    def __init__(self):
        super().__init__()
        home = self.homes / f"home{next(_HOMES)}"
        self.lake = StreamedLake(self.spark, Settings(home=home), Topic(self.services))
        self.versions = [self.lake.topic.register(0)]
        self.events = {}
        self.model = Model()
        self.kept = {}
        self.is_torn = False

    @property
    def feed(self):
        route = Route(column="game_name", keys=tuple(sorted(self.model.games)))
        return self.lake.topic.feed(route=route)

    @rule(game=strategies.sampled_from([*GAMES, ""]), many=strategies.integers(1, 5))
    def produce(self, game, many):
        version = len(self.versions) - 1
        good = framed(self.versions[-1], game, version=version)
        for place in self.lake.topic.produce(*[good if game else b"bad"] * many):
            self.events[place] = game

    @precondition(lambda self: len(self.versions) < 4)
    @rule()
    def register(self):
        self.versions.append(self.lake.topic.register(len(self.versions)))

    @precondition(lambda self: self.events)
    @rule()
    def stream(self):
        if self.is_torn:
            before = self.contents()
            with pytest.raises(StreamError, match="do not fit together"):
                self.lake.demux(self.feed)
            assert self.contents() == before
            self.rebuild()
        self.lake.stream(self.feed)
        for place, game in self.events.items():
            self.model.placed.setdefault(place, self.table_for(game))
        self.check()

    @precondition(lambda self: self.events)
    @rule()
    def ingest(self):
        self.lake.ingest(self.feed)

    @precondition(lambda self: self.events and not self.is_torn)
    @rule(point=strategies.sampled_from(POINTS))
    def kill(self, point):
        dying = StreamedLake(self.spark, self.lake.settings, self.lake.topic, kind=doomed(point))
        with suppress(Exception):  # Spark tells it in words of its own
            dying.ingest(self.feed)
        self.lake.ingest(self.feed)
        with suppress(KilledError):
            dying.demux(self.feed)

    @precondition(lambda self: self.model.placed and not self.is_torn)
    @rule()
    def keep_lake(self):
        self.stream()
        self.keep("lake", self.lake.settings.lake_dir)

    @precondition(lambda self: "lake" in self.kept)
    @rule()
    def restore_lake(self):
        self.put_back("lake", self.lake.settings.lake_dir)
        self.model, self.is_torn = self.kept["lake"].copy(), False

    @precondition(lambda self: self.model.placed)
    @rule()
    def keep_state(self):
        self.keep("state", self.lake.settings.state_dir)

    @precondition(lambda self: "state" in self.kept)
    @rule()
    def restore_state(self):
        self.put_back("state", self.lake.settings.state_dir)

    @precondition(lambda self: self.model.placed)
    @rule()
    def lose_state(self):
        shutil.rmtree(self.lake.settings.state_dir)

    @precondition(lambda self: "uno" in self.model.placed.values() and not self.is_torn)
    @rule()
    def keep_and_restore_one_table(self):
        self.stream()
        table = self.lake.folder(silver_of("uno"))
        self.keep("table", table)
        self.produce("uno", 1)
        self.stream()
        self.put_back("table", table)
        self.is_torn = True

    @precondition(lambda self: self.model.placed)
    @rule(game=strategies.sampled_from([*sorted(DECLARED), ""]))
    def optimize(self, game):
        table = silver_of(game) if game else bronze_of("games")
        DeltaTable(self.lake.folder(table)).optimize.compact()

    @precondition(lambda self: self.model.placed)
    @rule(game=strategies.sampled_from([*sorted(DECLARED), ""]))
    def vacuum(self, game):
        table = silver_of(game) if game else bronze_of("games")
        DeltaTable(self.lake.folder(table)).vacuum(
            retention_hours=0, enforce_retention_duration=False, dry_run=False
        )

    @precondition(lambda self: "uno" in self.model.placed.values() and not self.is_torn)
    @rule(data=strategies.data())
    def delete_a_row(self, data):
        here = sorted(place for place, game in self.model.placed.items() if game == "uno")
        partition, offset = data.draw(strategies.sampled_from(here))
        handle = DeltaTable(self.lake.folder(silver_of("uno")))
        handle.delete(f"_partition = {partition} and _offset = {offset}")
        self.model.placed[partition, offset] = "deleted"

    @precondition(lambda self: self.model.placed and not self.is_torn)
    @rule()
    def add_chess_and_requeue(self):
        self.stream()
        self.model.games = frozenset(GAMES)
        with self.lake.redo(self.feed) as redo:
            redo.requeue()
        for place, table in self.model.placed.items():
            if table == QUARANTINE.name:
                self.model.placed[place] = self.table_for(self.events[place])
        self.check()

    @precondition(lambda self: self.model.placed)
    @rule()
    def rebuild(self):
        with self.lake.redo(self.feed) as redo:
            self.lake.rebuild_with(redo)
        self.is_torn = False
        self.model.placed = {
            place: self.table_for(self.events[place]) for place in self.model.placed
        }

    def table_for(self, game):
        return game if game in self.model.games else QUARANTINE.name

    def keep(self, name, folder):
        copy = self.homes / f"copy{next(_HOMES)}"
        shutil.copytree(folder, copy)
        self.kept[name] = self.model.copy()
        self.kept[f"{name} copy"] = copy

    def put_back(self, name, folder):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.kept[f"{name} copy"], folder)

    def contents(self):
        """By table, the places of its rows, as DuckDB reads them."""
        found = {QUARANTINE.name: places_of(self.lake.folder(QUARANTINE), "")}
        for game in GAMES:
            found[game] = places_of(self.lake.folder(silver_of(game)), "_")
        return found

    def check(self):
        """Each event is where the model has it, once; and bronze has all of them, once."""
        self.steps["checks"] += 1
        expected = {name: Counter() for name in (QUARANTINE.name, *GAMES)}
        for place, name in self.model.placed.items():
            expected.setdefault(name, Counter())[place] += 1
        expected.pop("deleted", None)
        assert self.contents() == expected
        bronze = places_of(self.lake.folder(bronze_of("games")), "")
        assert bronze == Counter(dict.fromkeys(self.events, 1))


def bound_to(spark, services, homes):
    """The machine's class for one run."""
    own = {"spark": spark, "services": services, "homes": homes, "steps": Counter()}
    return type("BoundMachine", (Machine,), own)


def doomed(point):
    return type("DoomedAt", (Doomed,), {"point": point})


def places_of(folder, prefix):
    if not DeltaTable.is_deltatable(str(folder)):
        return Counter()
    with duckdb.connect() as db:
        rows = db.from_arrow(DeltaTable(folder).to_pyarrow_dataset())
        return Counter(rows.project(f'"{prefix}partition", "{prefix}offset"').fetchall())


def test_each_event_is_in_its_place_once_whatever_happens(spark, services, tmp_path, request):
    found = bound_to(spark, services, tmp_path)
    run_state_machine_as_test(
        found,
        settings=settings(
            max_examples=request.config.getoption("--sequences"),
            stateful_step_count=request.config.getoption("--steps"),
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert found.steps["checks"] > 0
