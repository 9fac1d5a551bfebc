"""A feed of Avro from a real topic and registry to its tables, through changes of its schema."""

import json
import threading
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema
from deltalake import DeltaTable

from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route
from lake_assets.model.tables import quarantine_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest
from lake_assets.streams.schemas import Schemas, format_with
from lake_assets_tests.e2e.page_example import run_example
from lake_assets_tests.e2e.registered import RegisteredLake
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.avro.given import datum, framed, record
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

KEY = ("game", "string")
SCORE = {"name": "score", "type": "int"}

FIRST = record(KEY, SCORE, ("gone", ["null", "string"]))

SECOND = record(
    {"name": "level", "type": "int", "default": 1},
    {"name": "points", "aliases": ["score"], "type": "double"},
    KEY,
    ("place", record(("x", "float"), name="place")),
)
"""A field more with a default, one renamed and wider, one removed, one nested; another order."""

WORSE = record(KEY, ("points", "string"))
"""Text where numbers are."""


class Games:
    """A topic of Avro, and its feed."""

    def __init__(self, services: Any) -> None:
        self.topic = Topic(services)
        self.feed: Feed = self.topic.feed(
            payload=Payload.model_validate({"avro": {"subject": self.topic.subject}}),
            route=Route(column="game", keys=("uno", "go_fish")),
            expectations=(),
            gold=(),
        )

    def register(self, schema: dict[str, Any]) -> int:
        text = json.dumps({**schema, "doc": self.topic.subject})
        with registry_client(self.topic.endpoints.registry, RegistryAccess()) as client:
            return int(client.register_schema(self.topic.subject, Schema(text, "AVRO")))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_versions_come_while_the_streams_run_and_no_valid_row_is_refused(
    spark, connected, services
):
    games = Games(services)
    first = games.register(FIRST)

    def one(**values):
        return framed(first, datum(FIRST, {"game": "uno", "gone": None, **values}))

    def rows(table, *names):
        found = DeltaTable(connected.lake_dir / table.relative).to_pyarrow_table().to_pylist()
        return sorted((tuple(row.get(name) for name in names) for row in found), key=str)

    with open_lake(connected) as context:
        pipeline = Pipeline(
            session=spark,
            endpoints=services,
            context=context,
            stream=connected.stream,
            state_dir=connected.state_dir,
            report=lambda _: None,
        )
        schemas = Schemas(
            feed=games.feed,
            format=format_with(connected, services, games.feed, spark),
            stop=threading.Event(),
            announce=lambda waiting: pytest.fail(str(waiting)) if waiting else None,
        )
        demux = demux_of(pipeline, games.feed, schemas)
        games.topic.produce(one(score=1, gone="x"), None, b"bad", one(score=2)[:-1])
        demux.prepare(spark)
        follower = follower_of(pipeline, demux)

        def stream(*values):
            games.topic.produce(*values)
            start_ingest(pipeline, games.feed, until_caught_up=True).awaitTermination()
            follower.drain()

        stream()
        assert rows(silver_of("uno"), "score", "gone") == [(1, "x")]
        second = games.register(SECOND)
        new = {"game": "uno", "level": 5, "points": 0.5, "place": {"x": 1.5}}
        stream(framed(second, datum(SECOND, new)), one(score=3), one(game="go_fish", score=4))
        names = ("level", "points", "gone", "place")
        assert rows(silver_of("uno"), *names) == [
            (1, 3.0, None, None),
            (5, 0.5, None, {"x": 1.5}),
            (None, 1.0, "x", None),  # stored before the default was known
        ]
        assert rows(silver_of("go_fish"), *names) == [(1, 4.0, None, None)]
        worse = games.register(WORSE)
        stream(framed(worse, datum(WORSE, {"game": "uno", "points": "many"})), one(score=5))
        assert (1, 5.0) in rows(silver_of("uno"), "level", "points")
    assert rows(quarantine_of("games"), "reason", "detail") == [
        ("empty_value", None),
        (
            "incompatible_schema",
            "field points is string in version 3, and the column is double",
        ),
        ("not_framed", None),
        ("undecodable", "gone: the value ends too early"),
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rows_that_were_refused_move_and_all_are_derived_again(spark, connected, services):
    lake = RegisteredLake(spark, connected, services, "avro", "AVRO")
    first = lake.register(FIRST)
    uno, chess, refused = silver_of("uno"), silver_of("chess"), quarantine_of("games")

    def one(**values):
        return framed(first, datum(FIRST, {"game": "uno", "gone": None, **values}))

    with lake.streaming():
        lake.stream(one(score=1, gone="x"), one(game="chess", score=9), b"bad")
        second = lake.register(SECOND)
        new = {"game": "uno", "level": 5, "points": 0.5, "place": {"x": 1.5}}
        lake.stream(framed(second, datum(SECOND, new)), one(score=3))
        worse = lake.register(WORSE)
        lake.stream(framed(worse, datum(WORSE, {"game": "uno", "points": "many"})))

        assert lake.requeue("chess")[chess.name] == 1
        assert lake.rows(chess, "level", "points", "gone") == [(1, 9.0, None)]
        others = lake.rows(refused, "reason")
        assert others == [("incompatible_schema",), ("not_framed",)]
        before = lake.rows(uno, "_offset", "_partition", "points", "gone", "place")
        lake.rebuild("chess")
        assert lake.rows(uno, "_offset", "_partition", "points", "gone", "place") == before
        # Only the default of a field that came later is told anew.
        assert lake.rows(uno, "level", "points") == [(1, 1.0), (1, 3.0), (5, 0.5)]
        assert lake.rows(chess, "level", "points", "gone") == [(1, 9.0, None)]
        assert lake.rows(refused, "reason") == others
        lake.stream(one(score=4))
        assert (1, 4.0) in lake.rows(uno, "level", "points")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_example_of_the_page_runs(connected, services, tmp_path):
    _, counts = run_example("avro.md", "payments", Topic(services), connected, tmp_path / "feeds")
    assert {key: table.num_rows for key, table in counts.items()} == {"at": 2, "de": 1}
    (paid,) = counts["de"].select(["id", "amount", "method", "note"]).to_pylist()
    assert (paid["id"][-1], str(paid["amount"])) == ("1", "19.90")
    assert (paid["method"], paid["note"]) == ("CARD", None)
