"""A feed of JSON from a real topic to its tables, where no schema registry runs at all."""

import json
import threading
from dataclasses import dataclass
from decimal import Decimal

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.services.control import locate
from lake_assets.settings.schema import KafkaSettings, Settings
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest
from lake_assets.streams.schemas import Schemas, format_with
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.json.given import FITNESS, batch, decoder
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

OTHERS = (
    "y tinyint, n smallint, l bigint, d double, f float, ok boolean, day date, p decimal(10,2), "
    "b binary, o struct<x: int, at timestamp>, a array<int>, m map<string,int>"
)
"""The types that the fitness tracker has not."""

PULSE, STRIDE = silver_of("pulse"), silver_of("stride")

BY_MODEL = Route(column="model", keys=("pulse", "stride"))


@dataclass
class Tracker:
    """A lake of one feed; each `stream` opens it as a process that has just started does."""

    spark: SparkSession
    settings: Settings
    topic: Topic

    route: Route | None = BY_MODEL

    def feed(self, **rules: str) -> Feed:
        payload = Payload.model_validate({"json": {"schema": FITNESS, **rules}})
        return self.topic.feed(payload=payload, route=self.route, expectations=(), gold=())

    def stream(self, *values: str | bytes | None, **rules: str) -> None:
        self.topic.produce(*(v.encode() if isinstance(v, str) else v for v in values))
        feed = self.feed(**rules)
        endpoints = locate(self.settings, [feed])
        assert endpoints.registry == ""
        with open_lake(self.settings) as context:
            pipeline = Pipeline(
                session=self.spark,
                endpoints=endpoints,
                context=context,
                stream=self.settings.stream,
                state_dir=self.settings.state_dir,
                report=lambda _: None,
            )
            start_ingest(pipeline, feed, until_caught_up=True).awaitTermination()
            schemas = Schemas(
                feed=feed,
                format=format_with(self.settings, endpoints, feed, self.spark),
                stop=threading.Event(),
                announce=lambda waiting: pytest.fail(str(waiting)) if waiting else None,
            )
            demux = demux_of(pipeline, feed, schemas)
            schemas.check()
            demux.prepare(self.spark)
            follower_of(pipeline, demux).drain()

    def rows(self, table, *names):
        found = DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()
        return sorted((tuple(row.get(name) for name in names) for row in found), key=str)


@pytest.fixture
def tracker(spark, settings, services):
    own = settings.model_copy(update={"kafka": KafkaSettings(bootstrap_servers=services.kafka)})
    return Tracker(spark, own, Topic(services))


def event(model="pulse", **values):
    return json.dumps({"time": "2026-11-22T12:00:00Z", "version": "1", "model": model, **values})


def test_rows_go_to_their_tables_rescued_or_to_quarantine_and_on_after_a_restart(tracker):
    tracker.stream(
        event(heart_bpm=72, kcal=1),
        event("stride", heart_bpm="abc", extra=1),
        event("other"),
        '{"model":',
        None,
        b"\0\0\0\0\7{}",
    )
    tracker.stream(event(heart_bpm=80))
    assert tracker.rows(PULSE, "heart_bpm", "kcal", "_rescued") == [
        (72, 1, None),
        (80, None, None),
    ]
    assert tracker.rows(STRIDE, "heart_bpm", "_rescued") == [
        (None, '{"heart_bpm":"abc","extra":1}')
    ]
    assert tracker.rows(quarantine_of("games"), "reason", "detail") == [
        ("empty_value", None),
        ("undecodable", "at character 0: Expecting value"),
        ("undecodable", "at character 9: Expecting value"),
        ("unknown_key", "model = other"),
    ]
    # Bytes that look like framing are none here.
    assert set(tracker.rows(bronze_of("games"), "schema_id")) == {(None,)}
    assert set(tracker.rows(PULSE, "_schema_id")) == {(None,)}


def test_without_a_route_all_objects_go_to_the_one_table(tracker):
    tracker.route = None
    tracker.stream(event(), event("../x"), "[]")
    table = tracker.feed().silver_table(tracker.feed().keys[0])
    assert tracker.rows(table, "model", "_rescued") == [("../x", None), ("pulse", None)]
    assert tracker.rows(quarantine_of("games"), "reason") == [("undecodable",)]


def test_silver_has_columns_of_every_type_that_can_be_declared(tracker):
    numbers = {"y": 1, "n": 2, "l": 3, "d": 0.5, "f": 0.25, "p": "1.5"}
    others = {"ok": True, "day": "2026-11-22", "b": "AAE=", "a": [1], "m": {"k": 1}}
    values = {**numbers, **others, "o": {"x": 1, "at": "2026-11-22"}}
    for _ in range(2):  # the second time the tables are there
        tracker.stream(event(**values), event(), schema=f"{FITNESS}, {OTHERS}")
    rows = tracker.rows(PULSE, "y", "n", "l", "d", "f", "ok", "p", "b", "a", "m", "_rescued")
    assert (
        rows[:2]
        == [(1, 2, 3, 0.5, 0.25, True, Decimal("1.50"), b"\0\1", [1], [("k", 1)], None)] * 2
    )
    assert rows[2:] == [(None,) * 11] * 2


def test_new_names_become_columns_in_the_batch_that_brings_them_and_stay(tracker):
    rules = {"on_unknown": "add_columns"}
    tracker.stream(event(heart_bpm=1), **rules)
    tracker.stream(event(steps=100, tags=["a"]), event("stride", steps=1.5), **rules)
    tracker.stream(event(steps="many", where={"x": 1}), event(steps=2), **rules)
    assert tracker.rows(PULSE, "heart_bpm", "steps", "tags", "where", "_rescued") == [
        (1, None, None, None, None),
        (None, 100.0, ["a"], None, None),
        (None, 2.0, None, None, None),
        (None, None, None, {"x": 1}, '{"steps":"many"}'),
    ]
    assert tracker.rows(STRIDE, "steps") == [(1.5,)]


def test_well_formed_rows_are_what_sparks_own_reader_makes_of_them(spark):
    ddl = f"{FITNESS}, {OTHERS}"
    rows = [
        event(heart_bpm=-1, d=0.1, f=0.1, day="2026-02-28", p=1.25, y=-128, n=1, l=2**63 - 1),
        event(
            time="2026-11-22T12:00:00.123456+01:00",
            o={"x": 1, "at": "2026-11-22T00:00:00Z"},
            a=[1, None],
            m={"k": 2},
        ),
        event(time="2026-11-22 12:00:00.123Z", b="AAE=", kcal=None, ok=True, d=-1e-300, f=3.4e38),
        event("ünï\n😀", d=12345678901234567890, p=99999999.99, o={}, a=[], m={}),
        "{}",
    ]
    frame = spark.createDataFrame([(row,) for row in rows], "value string")
    theirs = frame.select(F.from_json("value", ddl).alias("row")).select("row.*").toArrow()
    plan = decoder(ddl, on_unknown="ignore", on_mismatch="quarantine")
    ours = plan.decode(batch(*(row.encode() for row in rows))).columns
    assert ours.to_pylist() == theirs.to_pylist()
