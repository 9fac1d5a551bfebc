"""Several record types in a topic, each under a subject of its own, as producers register them."""

from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest
from deltalake import DeltaTable

from lake_assets.logs.schema_log import entries_of
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.tables import quarantine_of
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.commandline import lake_assets_here, result_of
from lake_assets_tests.e2e.page_example import run_example
from lake_assets_tests.e2e.registered import RegisteredLake
from lake_assets_tests.e2e.serialized import Producer
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

KEYS = ("uno", "chess", "go")


@dataclass
class SubjectsLake(RegisteredLake):
    """Games of several types; each key's table has the columns of its own."""

    strategy: str = "record"
    by_name: bool = False
    producer: Producer = field(init=False)

    def __post_init__(self):
        super().__post_init__()
        namespace = f"acme{uuid4().hex[:8]}"
        about = (self.format, self.topic.name, namespace, self.strategy)
        self.producer = Producer(self.services.registry, *about)

    def feed(self, *more_keys):
        names = [self.producer.subject(key.title()) for key in (*KEYS, *more_keys)]
        subjects = names if self.by_name else self.producer.pattern
        aliases = {self.producer.name(key.title()): key for key in (*KEYS, *more_keys)}
        return self.topic.feed(
            payload=Payload.model_validate({self.format: {"subjects": subjects}}),
            route=Route(message=True, keys=(*KEYS, *more_keys), aliases=aliases),
            columns=TableColumns.OWN,
            expectations=(),
            gold=(),
        )

    def uno(self, player, color):
        return self.producer.send("Uno", player=("string", player), color=("int", color))

    def chess(self, player, elo):
        return self.producer.send("Chess", player=("string", player), elo=("int", elo))

    def go(self, player, stone, short="Go"):
        # In Uno a color is a number.
        values = {"player": player, "stone": stone, "color": stone}
        return self.producer.send(short, **{name: ("string", one) for name, one in values.items()})

    def columns(self, key):
        path = self.settings.lake_dir / silver_of(key).relative
        names = [one.name for one in DeltaTable(path).schema().fields]
        return [name for name in names if not name.startswith("_")]

    def all(self):
        return {
            key: self.rows(silver_of(key), *self.columns(key), "_partition", "_offset")
            for key in KEYS
        }

    def without_registry(self):
        down = replace(self.services, registry="http://127.0.0.1:1")
        return replace_lake(self, services=down)


def replace_lake(lake, **changes):
    """The same lake as another process opens it."""
    made = SubjectsLake(
        lake.spark,
        lake.settings,
        changes.get("services", lake.services),
        lake.format,
        lake.language,
        strategy=lake.strategy,
        by_name=lake.by_name,
    )
    made.topic, made.producer = lake.topic, lake.producer
    return made


CASES = [
    ("protobuf", "PROTOBUF", "topic and record", False),
    ("avro", "AVRO", "record", False),
    ("json", "JSON", "topic and record", True),
]


@pytest.mark.timeout(900)
def test_the_example_of_the_page_runs(connected, services, tmp_path):
    folder = tmp_path / "feeds"
    settings, rows = run_example("subjects.md", "play", Topic(services), connected, folder)
    shown = {
        key: [
            {name: value for name, value in row.items() if not name.startswith("_")}
            for row in sorted(table.to_pylist(), key=lambda row: str(row["player"]))
        ]
        for key, table in rows.items()
    }
    assert shown == {
        "uno": [{"player": "ann", "color": 3}, {"player": "bob", "color": 1}],
        "chess": [{"player": "bob", "opening": "Réti"}],
    }
    told = lake_assets_here(settings, "schemas", "--feed", "play", "--json")
    whose = {(one["column"], one["subject"]) for one in result_of(told)}
    assert {(name, subject.split("-com.")[1]) for name, subject in whose if name == "opening"} == {
        ("opening", "acme.Chess")
    }


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_type_has_its_columns_in_its_own_table(spark, connected, services, case):
    *language, strategy, by_name = case
    more = {"strategy": strategy, "by_name": by_name}
    lake = SubjectsLake(spark, connected, services, *language, **more)
    uno, chess = lake.uno("a", 1), lake.chess("b", 1500)
    stranger = replace(lake.producer, namespace=f"other{uuid4().hex[:8]}")
    foreign = stranger.send("Uno", player=("string", "x"))
    with lake.streaming():
        lake.stream(uno, chess, foreign, lake.uno("c", 2))
        assert (lake.columns("uno")[:2], lake.columns("chess")[:2]) == (
            ["player", "color"],
            ["player", "elo"],
        )
        assert lake.rows(silver_of("uno"), "player", "color") == [("a", 1), ("c", 2)]
        assert lake.rows(silver_of("chess"), "player", "elo") == [("b", 1500)]
        # A type that is registered while the streams run.
        lake.stream(lake.go("d", "black"), lake.chess("e", 1600))
        ensure_that_a_color_of_go_is_apart(lake)
        types = ("Uno", "Chess", "Go")
        assert logged_subjects(connected) == {lake.producer.subject(one) for one in types}
        before = lake.all()
        again = [lake.uno("f", 3), lake.go("g", "white")]
    down = lake.without_registry()
    with down.streaming():
        down.stream(*again)
    with lake.streaming():
        after = lake.all()
        more = {key: len(after[key]) - len(before[key]) for key in KEYS}
        assert more == {"uno": 1, "chess": 0, "go": 1}
        lake.rebuild()
        assert lake.all() == after
        assert lake.rows(quarantine_of("games"), "reason") == [("foreign_schema",)]


@pytest.mark.timeout(900)
def test_a_type_without_a_key_moves_once_one_is_declared(spark, connected, services):
    lake = SubjectsLake(spark, connected, services, "avro", "AVRO")
    uno = lake.uno("a", 1)
    with lake.streaming():
        lake.stream(uno, lake.go("h", "black", "Shogi"))
        assert lake.rows(quarantine_of("games"), "reason") == [("bad_key_name",)]
        assert lake.requeue("shogi") == {silver_of("shogi").name: 1}
        assert lake.rows(silver_of("shogi"), "player", "stone") == [("h", "black")]
        assert "stone" not in lake.columns("uno")


def ensure_that_a_color_of_go_is_apart(lake):
    own = ["player", "stone", "color_string"]
    assert lake.rows(silver_of("go"), *own) == [("d", "black", "black")]
    assert [name for name in lake.columns("go") if name in {*own, "color"}] == own
    assert {"stone", "color_string"}.isdisjoint(lake.columns("uno") + lake.columns("chess"))
    entries = entries_of(lake_of(lake.settings), "games")
    (told,) = [one for one in entries if one.column == "color_string"]
    assert told.reason.subject == lake.producer.subject("Go")
    assert told.note == "its field color, of another type than the column color"


def logged_subjects(settings):
    entries = entries_of(lake_of(settings), "games")
    return {one.reason.subject for one in entries if one.registered is not None}
