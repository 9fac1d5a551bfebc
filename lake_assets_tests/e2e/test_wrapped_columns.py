"""What else a feed declares, over the columns of envelopes and of their bodies; a real registry."""

from datetime import timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError
from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.keyed import Keyed
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.transforms import Mask
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.silver.message_types import SECOND, Games, chess, uno

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ENVELOPE = "message Envelope { string event = 1; bytes body = 2; int64 at = 3; }"
WIDER = "message Envelope { string id = 1; bytes body = 2; int64 at = 3; optional string by = 4; }"


class WrappedGames(Games):
    """Games of two message types in envelopes, whose subject is another."""

    def __init__(self, spark, context, settings, services):
        super().__init__(spark, context, settings, services)
        self.envelopes = Topic(services)
        self.outer = self.envelopes.register_text(ENVELOPE)
        self.prefix = ""

    def feed(self, **changes):
        wrapped = {"column": "body", "prefix": self.prefix}
        payload = {
            "protobuf": {"subject": self.envelopes.subject},
            "wrapped": {**wrapped, "protobuf": {"subject": self.topic.subject}},
        }
        return super().feed(**{"payload": Payload.model_validate(payload), **changes})

    def within(self, body, text=ENVELOPE, schema_id=None, **values):
        message = message_of(text, "Envelope", **values)
        message.body = body  # type: ignore[attr-defined]
        return framed(schema_id or self.outer, message)


@pytest.fixture
def lake(spark, settings, services):
    with open_lake(settings) as context:
        yield WrappedGames(spark, context, settings, services)


def test_the_bodys_message_is_routed_by_and_tables_have_its_columns_and_the_envelopes(lake):
    demux = lake.take(lake.within(uno(lake.first, player="ann", color=3), event="1"), b"bad")
    assert lake.columns("uno") == ["event", "at", "player", "color"]
    second = lake.topic.register_text(SECOND)
    move = {"player": "cid", "opening": "Réti", "elo": 2**40}
    wider = lake.envelopes.register_text(WIDER)
    values = [
        lake.within(chess(second, SECOND, **move), event="2"),
        lake.within(uno(second, SECOND, player="dan"), WIDER, wider, id="3", by="x"),
    ]
    lake.take(*values, demux=demux)
    assert set(lake.columns("uno")) == {"event", "id", "at", "by", "player", "color"}
    assert set(lake.columns("chess")) == {"event", "id", "at", "by", "player", "opening", "elo"}
    lake.redo().rebuild(lake.bronze())
    # As a rebuild does, the renamed field of the envelope stands under its newest name.
    (ann, dan), (cid,) = lake.read("uno"), lake.read("chess")
    assert (ann["id"], ann["player"], dan["id"], dan["by"]) == ("1", "ann", "3", "x")
    assert (cid["id"], cid["elo"], cid["by"]) == ("2", 2**40, None)
    assert lake.refused() == [(1, "not_framed")]


def test_what_is_declared_over_columns_is_over_those_of_both(lake):
    lake.prefix = "b_"
    select = ("b_player as player", "event", "at + b_color as n", "upper(b_player) as loud")
    declared = {
        "columns": TableColumns.SHARED,
        "select": select,
        "mask": {"player": Mask.REDACT},
        "deduplicate": Deduplicate(key=("event",), within=timedelta(hours=1)),
        "expectations": (Expectation(name="small", sql="n < 10", action=Action.QUARANTINE),),
    }
    values = [
        lake.within(uno(lake.first, player="ann", color=3), event="1", at=4),
        lake.within(uno(lake.first, player="bob", color=9), event="2", at=4),
        lake.within(uno(lake.first, player="ann", color=3), event="1", at=4),
    ]
    lake.take(*values, **declared)
    (row,) = lake.read("uno")
    assert (row["event"], row["n"], row["loud"]) == ("1", 7, "ANN")
    assert row["player"] != "ann"
    assert lake.refused() == [(1, "expectation")]
    # A limit that was raised lets the other one in.
    raised = (Expectation(name="small", sql="n < 20", action=Action.QUARANTINE),)
    assert lake.redo(**{**declared, "expectations": raised}).requeue().rows
    assert [one["n"] for one in lake.read("uno")] == [7, 13]


def test_a_keyed_table_is_by_the_body_and_in_the_order_of_the_envelope(lake, spark):
    plain = lake.feed(route=Route(message=True, keys=("uno",), aliases={"Uno": "uno"}))
    keyed = Keyed(by=("player",), order="at", deletes="event = 'gone'")
    dumped = plain.model_dump(by_alias=True, exclude={"expectations", "gold", "checks"})
    declared = type(plain).model_validate(
        {**dumped, "columns": "shared", "keyed": keyed.model_dump(by_alias=True)}
    )
    demux = lake.demux_of(declared)
    changes = [
        ("ann", 3, "new", 5),
        ("bob", 2, "new", 1),
        ("ann", 1, "old", 1),
        ("bob", 2, "gone", 3),
    ]
    values = [
        lake.within(uno(lake.first, player=player, color=color), event=event, at=at)
        for player, color, event, at in changes
    ]
    lake.take(*values, demux=demux)
    view = declared.view("current")
    refresh(spark, declared, declared.view("current_deletes"), ["uno"], lake.context)
    refresh_keyed(spark, declared, view, ["uno"], lake.context)
    table = DeltaTable(lake.settings.lake_dir / declared.gold_table(view, "uno").relative)
    rows = table.to_pyarrow_table().select(["player", "color"]).to_pylist()
    assert rows == [{"player": "ann", "color": 3}]


def test_one_name_in_both_is_refused_before_a_row_is_taken(lake):
    twin = "message Uno { string event = 1; }"
    other = Topic(lake.topic.endpoints)
    other.register_text(twin)
    lake.topic = other
    with pytest.raises(FeedError, match="bodies in body both have a column event"):
        lake.demux().prepare(lake.spark)


def test_one_body_with_an_envelope_of_no_such_column_is_refused(lake):
    lake.envelopes = Topic(lake.topic.endpoints)
    lake.envelopes.register_text("message Envelope { string body = 1; string text = 2; }")
    with pytest.raises(FeedError, match="name body, which is string"):
        lake.demux().prepare(lake.spark)
