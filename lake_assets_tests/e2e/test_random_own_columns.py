"""Tables with the columns of their own messages alone: random versions, faults and repairs.

Held against what was sent: each row once, in its message's table, with its values, and no table
with a column that is another message's.
"""

import random
import shutil
from contextlib import suppress
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from lake_assets.maintenance.run import maintain
from lake_assets.model.routes import TableColumns
from lake_assets.model.tables import Layer, quarantine_of
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets_tests.e2e.dying import POINTS, KilledError, doomed
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.sample import silver_of
from lake_assets_tests.silver.message_types import BY_MESSAGE
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

MESSAGES = {"uno": "Uno", "chess": "Chess"}

INDEX = {"uno": b"\0", "chess": b"\2\2"}

STEPS = 12


class Sequence:
    """What happens to a lake, one thing after the other, as chance has it."""

    def __init__(self, lake, chance):
        self.lake, self.chance = lake, chance
        self.keys: tuple[str, ...] = ("uno",)
        self.columns = TableColumns.OWN
        self.was_shared = False
        self.fields = {key: {"player": "string"} for key in MESSAGES}
        self.versions, self.events, self.kept = [], {}, None
        self.copy = lake.settings.lake_dir.with_name("copy")
        self.register()

    @property
    def feed(self):
        route = BY_MESSAGE.model_copy(update={"keys": self.keys})
        return self.lake.topic.feed(
            route=route, columns=self.columns, expectations=(), gold=(), checks=()
        )

    def register(self):
        """A version with a field more of one message, or one of the same name of both."""
        name, kind = f"more_{len(self.versions)}", self.chance.choice(["string", "int64", "bool"])
        for key in self.chance.choice([["uno"], ["chess"], ["uno", "chess"]]):
            self.fields[key][name] = kind
        text = " ".join(
            f"message {MESSAGES[key]} {{ {self._declared(fields)} }}"
            for key, fields in self.fields.items()
        )
        known = self.lake.topic.register_text(text)
        self.versions.append((known, text, {key: dict(own) for key, own in self.fields.items()}))

    @staticmethod
    def _declared(fields):
        numbers = {name: 10 + int(name.removeprefix("more_")) for name in fields if "_" in name}
        return " ".join(f"{kind} {n} = {numbers.get(n, 1)};" for n, kind in fields.items())

    def produce(self):
        for _ in range(self.chance.randint(1, 4)):
            known, text, fields = self.chance.choice(self.versions)
            key = self.chance.choice([*MESSAGES])
            values = {
                name: {"string": f"s{len(self.events)}", "int64": 2**40, "bool": True}[kind]
                for name, kind in fields[key].items()
            }
            message = message_of(text, MESSAGES[key], **values)
            (place,) = self.lake.topic.produce(framed(known, message, INDEX[key]))
            self.events[place] = (key, values)

    def stream(self):
        self.lake.stream(self.feed)

    def run(self):
        self.lake.stream_in_one_job(self.feed)

    def kill(self):
        self.produce()
        self.lake.ingest(self.feed)
        with suppress(KilledError):
            replace(self.lake, kind=doomed(self.chance.choice(POINTS))).demux(self.feed)

    def kill_a_run(self):
        self.produce()
        dying = replace(self.lake, kind=doomed(self.chance.choice(POINTS), Layer.BRONZE))
        with suppress(Exception):  # Spark tells it in words of its own
            dying.stream_in_one_job(self.feed)

    def forget(self):
        shutil.rmtree(self.lake.settings.state_dir, ignore_errors=True)

    def rebuild(self):
        self.stream()
        keys = self.chance.choice([None, *([key] for key in self.keys)])
        with self.lake.redo(self.feed) as redo:
            self.lake.rebuild_with(redo, keys=keys)

    def add_key(self):
        """Its rows are in quarantine until then."""
        self.stream()
        self.keys = tuple(MESSAGES)
        with self.lake.redo(self.feed) as redo:
            redo.requeue()

    def share_columns_or_not(self):
        is_own = self.columns is TableColumns.OWN
        self.columns = TableColumns.SHARED if is_own else TableColumns.OWN
        self.was_shared = True
        self.stream()

    def compact(self):
        for key in self.keys:
            if DeltaTable.is_deltatable(str(self.lake.folder(silver_of(key)))):
                DeltaTable(self.lake.folder(silver_of(key))).optimize.compact()

    def maintain(self):
        upkeep = MaintenanceSettings(keep_hours=1e-9, join_at_files=2)
        maintain(self.lake.settings.model_copy(update={"maintenance": upkeep}), self.feed)

    def keep_lake(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.lake.settings.lake_dir, self.copy)
        self.kept = (self.keys, self.columns, self.was_shared)

    def restore_lake(self):
        if self.kept:
            shutil.rmtree(self.lake.settings.lake_dir)
            shutil.copytree(self.copy, self.lake.settings.lake_dir)
            self.keys, self.columns, self.was_shared = self.kept

    def found(self):
        """By place, the table and the values of its rows, those that are null left out."""
        found = {}
        for key in MESSAGES:
            folder = self.lake.folder(silver_of(key))
            if not DeltaTable.is_deltatable(str(folder)):
                continue
            rows = DeltaTable(folder).to_pyarrow_table()
            names = [name for name in rows.column_names if not name.startswith("_")]
            assert self.was_shared or {*names} <= self.fields[key].keys()
            for row in rows.to_pylist():
                values = {name: row[name] for name in names if row[name] is not None}
                place = (row["_partition"], row["_offset"])
                found.setdefault(place, []).append((key, values))
        return found

    def check(self):
        """Half a batch may be there, and nothing that is wrong."""
        for place, rows in self.found().items():
            assert rows == [self.events[place]], place

    def check_at_the_end(self):
        events = {place: [event] for place, event in self.events.items() if event[0] in self.keys}
        assert self.found() == events
        refused = self.lake.places(quarantine_of("games"))
        assert refused.keys() == self.events.keys() - events.keys()
        assert refused.total() == len(refused)


def test_rows_are_whole_in_tables_of_their_own_columns_whatever_happens(
    spark, services, settings, seed
):
    steps = Sequence(StreamedLake(spark, settings, Topic(services)), random.Random(seed))  # noqa: S311 - the same each time
    steps.produce()
    steps.stream()
    usual = [steps.produce, steps.register, steps.stream, steps.run, steps.kill, steps.kill_a_run]
    rare = [steps.forget, steps.rebuild, steps.add_key, steps.share_columns_or_not, steps.compact]
    rare += [steps.maintain, steps.keep_lake, steps.restore_lake]
    for _ in range(STEPS):
        steps.chance.choice([*usual, *usual, *rare])()
        steps.check()
    steps.add_key()
    steps.check_at_the_end()
    with steps.lake.redo(steps.feed) as redo:
        steps.lake.rebuild_with(redo)
    steps.check_at_the_end()
