"""Schemas with several messages and with renamed fields, from a real topic to silver and gold."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.routes import Route
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.rows import silver_schema
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.reprocess import rebuild_silver, requeue
from lake_assets.streams.run import stream_events
from lake_assets_tests.columns import KAFKA, ORIGIN, QUARANTINE
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ROUTE = Route(column="game_name", keys=("uno",))

HELPER_FIRST = (
    "message player { repeated int32 b = 1; string nick = 2; } "
    "message event { string game_name = 1; bool b = 2; player player = 3; }"
)
WRONG = pa.schema([("b", pa.list_(pa.int32())), ("nick", pa.string())])
"""What the first message made of silver, as releases before did."""

OLD = "message event { string game_name = 1; int32 b = 2; N n = 3; } message N { int32 x = 1; }"
NEW = "message event { string game_name = 1; int64 bb = 2; N n = 3; } message N { int32 y = 1; }"


COUNT = GoldView(
    name="count", keys=("game_name",), measures={"rows": "count(*)"}, schedule="0 * * * *"
)


class World:
    """A lake of its own, and what is in it."""

    def __init__(self, settings, services, **changes):
        self.settings, self.endpoints = settings, services
        self.topic = Topic(services)
        self.feed = self.topic.feed(route=ROUTE, **{"expectations": (), "gold": (), **changes})

    def stream(self):
        events = stream_events(
            self.settings, [self.feed], self.endpoints, owner="a test", until_caught_up=True
        )
        for _ in events:
            pass

    def rebuild(self):
        return rebuild_silver(self.settings, self.feed, self.endpoints)

    def rows(self, table):
        found = DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()
        return [{k: v for k, v in row.items() if k not in ORIGIN.names} for row in found]

    def columns(self):
        handle = DeltaTable(self.settings.lake_dir / silver_of("uno").relative)
        return [field.name for field in handle.schema().fields if field.name not in ORIGIN.names]


@pytest.mark.timeout(900)
def test_columns_of_a_message_that_no_row_has_do_not_come_and_are_healed_where_they_are(
    connected, services
):
    known = Expectation(name="b_is_known", sql="b is not null")
    world = World(connected, services, expectations=(known,))
    schema_id = world.topic.register_text(HELPER_FIRST)
    event = framed(schema_id, message_of(HELPER_FIRST, game_name="uno", b=True), b"\2\2")
    helper = framed(schema_id, message_of(HELPER_FIRST, "player", nick="ann"))
    world.topic.produce(event, helper, event)
    with open_lake(connected) as context:
        context.committer.create({silver_of("uno"): silver_schema(WRONG, KAFKA)})
    world.stream()
    reasons = sorted(row["reason"] for row in world.rows(quarantine_of("games")))
    assert reasons == ["foreign_message", "incompatible_schema", "incompatible_schema"]
    with streams_lock(connected.state_dir):
        world.rebuild()
    assert world.columns() == ["b", "nick"]
    world.rebuild()
    assert world.columns() == ["game_name", "b", "player"]
    assert world.rows(silver_of("uno")) == [{"game_name": "uno", "b": True, "player": None}] * 2
    (refused,) = world.rows(quarantine_of("games"))
    assert refused["detail"] == (
        "message player of version 1 has no field game_name, which says where a row goes"
    )
    assert list(refused) == QUARANTINE.names
    world.topic.produce(event)
    world.stream()
    assert len(world.rows(silver_of("uno"))) == 3


@pytest.mark.timeout(900)
def test_a_renamed_field_has_its_values_of_all_times_under_the_new_name(connected, services):
    view = GoldView(
        name="sums", keys=("game_name",), measures={"total": "sum(bb)"}, schedule="0 * * * *"
    )
    world = World(connected, services, gold=(COUNT,))
    old = world.topic.register_text(OLD)
    before = framed(old, message_of(OLD, game_name="uno", b=1, n={"x": 5}))
    world.topic.produce(*[before] * 3)
    world.stream()
    refresh_gold(connected, world.feed)
    new = world.topic.register_text(NEW)
    after = framed(new, message_of(NEW, game_name="uno", bb=2**40, n={"y": 6}))
    world.topic.produce(after, before)
    world.feed = world.feed.model_copy(update={"gold": (view, COUNT)})
    world.stream()
    rows = world.rows(silver_of("uno"))
    assert sorted(row["bb"] for row in rows) == [1, 1, 1, 1, 2**40]
    assert sorted(row["n"]["y"] for row in rows) == [5, 5, 5, 5, 6]
    assert world.columns() == ["game_name", "b", "n", "bb"]
    refresh_gold(connected, world.feed)
    (sums,) = world.rows(world.feed.gold_table(view, "uno"))
    assert sums["total"] == 4 + 2**40
    assert [row["rows"] for row in world.rows(world.feed.gold_table(COUNT, "uno"))] == [5]
    world.rebuild()
    assert world.columns() == ["game_name", "n", "bb"]
    assert sorted(row["bb"] for row in world.rows(silver_of("uno"))) == [1, 1, 1, 1, 2**40]
    assert requeue(connected, world.feed, services).rows == {}
    of_old = view.model_copy(update={"measures": {"total": "sum(b)"}})
    world.feed = world.feed.model_copy(update={"gold": (of_old,)})
    with pytest.raises(FeedError, match=r"view 'sums'.*`b` cannot be resolved"):
        refresh_gold(connected, world.feed)
