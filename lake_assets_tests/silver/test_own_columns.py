"""Tables that have the columns of their own messages alone, by a real registry."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable

from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.logs.schema_log import entries_of
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.routes import Route, TableColumns, Unknown
from lake_assets.silver.own_columns import message_columns
from lake_assets_tests.silver.message_types import FIRST, SECOND, chess, open_games, uno

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def lake(spark, settings, services):
    with open_games(spark, settings, services) as found:
        yield found


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
    # Fields go by their numbers, so the newest name is also the one of rows that came before.
    third = lake.topic.register_text(other.replace("bytes color", "bytes side"))
    lake.take(chess(third, other, player="dan", color=b"b"))
    assert lake.redo().requeue().rows == {"silver_chess_events": 1}
    sides = [{"player": "bob", "side": b"w"}, {"player": "dan", "side": b"b"}]
    assert lake.read("chess") == sides
    assert (lake.columns("uno"), lake.refused()) == (["player", "color"], [])


def test_a_key_that_comes_along_has_the_columns_of_its_messages(lake):
    given = {"keys": ("uno",), "aliases": {"Uno": "uno", "Chess": "chess"}}
    route = Route(message=True, unknown=Unknown.CREATE, **given)
    second = lake.topic.register_text(SECOND)
    demux = lake.take(uno(second, SECOND, player="ann", color=1), route=route)
    lake.take(chess(second, SECOND, player="bob", elo=3), demux=demux)
    assert {*lake.columns("uno")} == {"player", "color"}
    assert lake.read("chess") == [{"player": "bob", "opening": "", "elo": 3}]


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


def test_a_decoder_that_knows_no_messages_is_not_taken_for_one_without_columns():
    declared = {
        "feed": "events",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"json": {"schema": "a string"}},
    }
    around = Surroundings(registry="", registry_access=RegistryAccess())
    found = format_of(Feed.model_validate(declared), around)
    decoder = found.plan(found.newest(), pa.schema([]), ())
    with pytest.raises(TypeError, match="JsonDecoder does not tell"):
        message_columns(decoder)
