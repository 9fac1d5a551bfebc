"""Tables that have the columns of their own messages alone, by a real registry."""

import re
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.commit import Batch
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.offset_range import Range
from lake_assets.errors import FeedError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.gold.refresh import refresh
from lake_assets.logs.schema_log import entries_of
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Bronze, Redo
from lake_assets.silver.selecting_format import with_select
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.storage.local import LocalStore
from lake_assets.storage.uri import LakeUri
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.silver.given import bronze_batch, no_position

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

FIRST = "message Uno { string player = 1; int32 color = 2; } message Chess { string player = 1; }"

SECOND = (
    "message Uno { string player = 1; int32 color = 2; } "
    "message Chess { string player = 1; string opening = 2; int64 elo = 3; }"
)

BY_MESSAGE = Route(message=True, keys=("uno", "chess"), aliases={"Uno": "uno", "Chess": "chess"})


class Lake:
    """A topic of two message types, and a lake for it."""

    def __init__(self, spark, context, settings, services):
        self.spark, self.context, self.settings = spark, context, settings
        self.topic = Topic(services)
        self.first = self.topic.register_text(FIRST)
        self.values, self.batches = [], 0

    def feed(self, **changes):
        own = {"route": BY_MESSAGE, "columns": TableColumns.OWN, "expectations": (), "gold": ()}
        return self.topic.feed(**{**own, **changes})

    def demux(self, **changes):
        return self.demux_of(self.feed(**changes))

    def demux_of(self, declared):
        registry = self.topic.endpoints.registry
        around = Surroundings(registry=registry, registry_access=RegistryAccess())
        found = with_select(self.spark, declared, format_of(declared, around), b"")
        return Demux(
            feed=declared,
            context=self.context,
            journal=Journal(self.settings.state_dir / "games-demux.json"),
            format=found,
            schemas=found,
            report=lambda _: None,
        )

    def take(self, *values, demux=None, **changes):
        demux = demux or self.demux(**changes)
        start = len(self.values)
        self.values += values
        rows = bronze_batch(*self.values).slice(start)
        frame = self.spark.createDataFrame(pa.Table.from_batches([rows]))
        demux(Rows(frame), Batch("query", self.batches), no_position)
        self.batches += 1
        return demux

    def redo(self, **changes):
        place = LakeUri.local(self.settings.state_dir / "games-redo.json")
        journal = ChangeJournal(LocalStore.at(self.settings.state_dir), place, KAFKA)
        return Redo(session=self.spark, demux=self.demux(**changes), journal=journal)

    def bronze(self):
        rows = pa.Table.from_batches([bronze_batch(*self.values)])
        ends = {("t", 0): len(self.values)}
        return Bronze(rows=self.spark.createDataFrame(rows), range=Range(ends=ends))

    def read(self, key):
        path = self.settings.lake_dir / self.feed().silver_table(key).relative
        table = DeltaTable(path).to_pyarrow_table()
        rows = table.sort_by("_offset").to_pylist()
        return [{n: v for n, v in row.items() if not n.startswith("_")} for row in rows]

    def kind(self, key, column):
        path = self.settings.lake_dir / self.feed().silver_table(key).relative
        return DeltaTable(path).to_pyarrow_table().schema.field(column).type

    def columns(self, key):
        path = self.settings.lake_dir / self.feed().silver_table(key).relative
        names = [field.name for field in DeltaTable(path).schema().fields]
        return [name for name in names if not name.startswith("_")]

    def refused(self):
        path = self.settings.lake_dir / quarantine_of("games").relative
        rows = DeltaTable(path).to_pyarrow_table().sort_by("offset").to_pylist()
        return [(row["offset"], row["reason"]) for row in rows]


@pytest.fixture
def lake(spark, settings, services):
    with ExitStack() as stack:
        yield Lake(spark, stack.enter_context(open_lake(settings)), settings, services)


def uno(schema_id, body=FIRST, **values):
    return framed(schema_id, message_of(body, "Uno", **values))


def chess(schema_id, body=FIRST, **values):
    return framed(schema_id, message_of(body, "Chess", **values), b"\2\2")


def test_each_table_has_the_columns_of_its_messages_and_widens_by_them_alone(lake):
    demux = lake.take(uno(lake.first, player="ann", color=3), b"bad")
    # All that the first version of Chess has is there already, so its rows are ready.
    assert (lake.columns("uno"), lake.columns("chess")) == (["player", "color"], ["player"])
    lake.take(chess(lake.first, player="bob"), demux=demux)
    assert lake.columns("chess") == ["player"]
    second = lake.topic.register_text(SECOND)
    move = {"player": "cid", "opening": "Réti", "elo": 2**40}
    lake.take(chess(second, SECOND, **move), uno(second, SECOND, player="dan"), demux=demux)
    assert lake.columns("uno") == ["player", "color"]
    assert lake.read("chess") == [{"player": "bob", "opening": "", "elo": 0} | none(), move]
    assert lake.read("uno") == [{"player": "ann", "color": 3}, {"player": "dan", "color": 0}]
    assert lake.refused() == [(1, "not_framed")]
    # As after a restart.
    lake.take(uno(lake.first, player="eve", color=1), chess(second, SECOND, player="fay"))
    assert lake.columns("uno") == ["player", "color"]
    assert [row["player"] for row in lake.read("chess")] == ["bob", "cid", "fay"]
    noted = {(one.key, one.column) for one in entries_of(lake.context.lake, "games")}
    assert ("chess", "elo") in noted
    assert ("uno", "elo") not in noted


def none():
    """What a column holds in rows that were written before it was there."""
    return {"opening": None, "elo": None}


def test_requeue_and_rebuild_keep_the_tables_apart(lake):
    only_uno = Route(message=True, keys=("uno",), aliases={"Uno": "uno"})
    second = lake.topic.register_text(SECOND)
    values = [uno(lake.first, player="ann"), chess(second, SECOND, player="bob", elo=9)]
    lake.take(*values, route=only_uno)
    assert lake.refused() == [(1, "bad_key_name")]
    assert lake.redo().requeue().rows == {"silver_chess_events": 1}
    assert (lake.columns("uno"), lake.read("chess")[0]["elo"]) == (["player", "color"], 9)
    before = lake.read("uno"), lake.read("chess")
    lake.redo().rebuild(lake.bronze())
    assert (lake.read("uno"), lake.read("chess")) == before
    lake.redo().rebuild(lake.bronze(), ["chess"])
    assert (lake.read("uno"), lake.read("chess")) == before
    assert lake.refused() == []


def test_tables_that_had_all_columns_keep_them_and_get_no_more(lake):
    narrow = FIRST.replace(
        "Chess { string player = 1;", "Chess { string player = 1; int32 elo = 3;"
    )
    ids = lake.topic.register_text(narrow), lake.topic.register_text(SECOND)
    both = [uno(ids[0], narrow, player="ann", color=1), chess(ids[0], narrow, player="bob", elo=3)]
    lake.take(*both, columns=TableColumns.SHARED)
    assert (
        sorted(lake.columns("uno")) == sorted(lake.columns("chess")) == ["color", "elo", "player"]
    )
    games = [chess(ids[1], SECOND, player="cid", elo=2**40), uno(ids[1], SECOND, player="dan")]
    lake.take(*games)
    assert lake.read("chess")[1] == {"player": "cid", "color": None, "opening": "", "elo": 2**40}
    # Views read both tables, so what is in both has one type in both.
    assert lake.kind("uno", "elo") == lake.kind("chess", "elo") == pa.int64()
    assert lake.read("uno")[1] == {"player": "dan", "color": 0, "elo": None}
    lake.take(uno(ids[1], SECOND, player="eve"), columns=TableColumns.SHARED)
    assert sorted(lake.columns("uno")) == ["color", "elo", "opening", "player"]


def test_a_name_of_two_types_is_refused_and_leaves_the_tables_alone(lake):
    lake.take(uno(lake.first, player="ann", color=1))
    other = FIRST.replace(
        "Chess { string player = 1;", "Chess { string player = 1; bytes color = 2;"
    )
    second = lake.topic.register_text(other)
    rows = [chess(second, other, player="bob", color=b"w"), uno(second, other, player="cid")]
    lake.take(*rows)
    assert lake.refused() == [(1, "incompatible_schema")]
    assert lake.columns("uno") == ["player", "color"]
    assert [row["player"] for row in lake.read("uno")] == ["ann", "cid"]


def test_a_table_without_the_key_of_events_has_no_duplicates(lake):
    second = lake.topic.register_text(SECOND)
    once = Deduplicate(key=("opening",), within=timedelta(hours=1))
    moves = [chess(second, SECOND, player=name, opening="Réti") for name in ("a", "b")]
    cards = [uno(second, SECOND, player=name) for name in ("c", "d")]
    lake.take(*moves, *cards, deduplicate=once)
    lake.take(*moves, *cards, deduplicate=once)
    assert [row["player"] for row in lake.read("chess")] == ["a"]
    assert [row["player"] for row in lake.read("uno")] == ["c", "d", "c", "d"]


def test_what_a_table_lacks_is_null_to_expectations_and_views(lake, spark):
    high = Expectation(name="high", sql="elo > 5", action=Action.QUARANTINE, keys=("chess",))
    known = Expectation(name="known", sql="elo is null or elo > 0", action=Action.DROP)
    second = lake.topic.register_text(SECOND)
    games = [chess(second, SECOND, player=name, elo=n) for name, n in {"a": 9, "b": 1}.items()]
    lake.take(uno(second, SECOND, player="c"), *games, expectations=(high, known))
    assert [row["player"] for row in lake.read("chess")] == ["a"]
    assert [row["player"] for row in lake.read("uno")] == ["c"]
    view = GoldView(name="top", keys=("player",), measures={"best": "max(elo)"})
    done = refresh(spark, lake.feed(gold=(view,)), view, ["uno"], lake.context)
    assert {one.key: one.rows for one in done.refreshed} == {"uno": 1}
    lake.take(uno(second, SECOND, player="d"))
    done = refresh(spark, lake.feed(gold=(view,)), view, ["uno", "chess"], lake.context)
    assert {one.key: one.rows for one in done.refreshed} == {"uno": 2, "chess": 1}
    wrong = lake.demux(expectations=(Expectation(name="wrong", sql="nobodys > 5"),))
    with pytest.raises(FeedError, match="nobodys"):
        wrong.prepare(spark)


def test_a_selected_column_is_of_the_messages_that_may_have_a_value_in_it(lake):
    computed = ("upper(player) as name", "elo / 2d as half", "coalesce(elo, 7) as elo_or_7")
    select = ("* except (color)", "color as card", *computed, "elo + color as total", "'a' as what")
    second = lake.topic.register_text(SECOND)
    values = [chess(lake.first), uno(second, SECOND, color=3), chess(second, SECOND, elo=4)]
    for value in values:  # each by what is known when it comes
        lake.take(value, select=select)
    everywhere = {"player", "name", "elo_or_7", "what"}
    assert {*lake.columns("uno")} == {*everywhere, "card"}
    assert {*lake.columns("chess")} == {*everywhere, "opening", "elo", "half"}
    assert lake.read("uno") == [
        {"player": "", "name": "", "elo_or_7": 7, "what": "a", "card": 3},
    ]
    assert [row["elo_or_7"] for row in lake.read("chess")] == [7, 4]
    assert [row["half"] for row in lake.read("chess")] == [None, 2.0]
    before = lake.read("uno"), lake.read("chess")
    lake.redo(select=select).rebuild(lake.bronze())
    assert (lake.read("uno"), lake.read("chess")) == before


def test_the_example_of_the_page_is_true(lake):
    page = (Path(__file__).parents[2] / "docs" / "routes.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page.split("## Own columns")[1], re.DOTALL)
    declared = yaml.safe_load(text)
    assert declared["payload"]["protobuf"]["subject"] == "play-value"
    declared["payload"]["protobuf"]["subject"] = lake.topic.subject
    feed = Feed.model_validate(declared)
    messages = SECOND.replace("message", "package com.acme; message", 1)
    known = lake.topic.register_text(messages)
    body = messages.replace("package com.acme; ", "")
    values = uno(known, body, player="ann", color=1), chess(known, body, player="bob", elo=5)
    lake.take(*values, demux=lake.demux_of(feed))
    paths = [lake.settings.lake_dir / feed.silver_table(key).relative for key in feed.keys]
    tables = [DeltaTable(path).to_pyarrow_table().column_names for path in paths]
    own = [{name for name in names if not name.startswith("_")} for names in tables]
    assert own == [{"player", "color"}, {"player", "opening", "elo"}]
