"""Fields that get another name, within what a feed's `select` takes apart: elements and structs."""

import pytest

from lake_assets.errors import FeedError
from lake_assets.model.routes import Route
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.silver.message_types import open_games

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TEXT = """message event {{
  message Item {{ string {item} = 1; int32 n = 2; }}
  message Basket {{ repeated Item {items} = 1; Item best = 2; }}
  string game_name = 1;
  Basket {basket} = 2;
  {more}
}}"""

OLD = TEXT.format(item="sku", items="items", basket="basket", more="")

FIELD = TEXT.format(item="code", items="items", basket="basket", more="string x = 9;")

STRUCTS = TEXT.format(
    item="code", items="lines", basket="cart", more="string x = 9; string y = 10;"
)


@pytest.fixture
def lake(spark, settings, services):
    with open_games(spark, settings, services) as found:
        yield found


def declared(lake, select, **more):
    payload = lake.topic.feed().payload
    only = payload.protobuf.model_copy(update={"message": "event"})
    return {
        "route": Route(column="game_name", keys=("uno",)),
        "columns": "shared",
        "payload": payload.model_copy(update={"protobuf": only}),
        "select": tuple(select),
        **more,
    }


def taken(lake, text, own, demux=None, **declared):
    known = lake.topic.register_text(text)
    return lake.take(
        framed(known, message_of(text, game_name="uno", **own)), demux=demux, **declared
    )


def before(lake, declared):
    items = [{"sku": "tea", "n": 1}, {"sku": "cup", "n": 2}]
    own = {"basket": {"items": items, "best": {"sku": "pot", "n": 3}}}
    return taken(lake, OLD, own, **declared)


NEWER = {"basket": {"items": [{"code": "jug", "n": 4}], "best": {"code": "can", "n": 5}}}

ELEMENTS = [
    (["game_name", "explode(basket.items) as item"], lambda row: row["item"]["code"]),
    (["game_name", "posexplode(basket.items) as (at, item)"], lambda row: row["item"]["code"]),
    (["* except (basket)", "inline(basket.items)"], lambda row: row["code"]),
    (["game_name", "inline(basket.items) as (what, n)"], lambda row: row["what"]),
]


@pytest.mark.parametrize("restarted", [True, False])
@pytest.mark.parametrize(("select", "code"), ELEMENTS)
def test_elements_that_were_stored_have_their_values_under_the_new_name(
    lake, select, code, restarted
):
    own = declared(lake, select)
    demux = before(lake, own)
    taken(lake, FIELD, NEWER, None if restarted else demux, **own)
    assert sorted(map(code, lake.read("uno"))) == ["cup", "jug", "tea"]


@pytest.mark.parametrize("by_key", [True, False])
def test_a_field_of_a_struct_has_the_values_of_older_names_within(lake, by_key):
    items = ("game_name", "basket.best as best", "basket.items as things")
    own = declared(lake, () if by_key else items)
    own |= {"selects": {"uno": items}} if by_key else {}
    before(lake, own)
    taken(lake, FIELD, NEWER, **own)
    rows = lake.read("uno")
    assert [row["best"]["code"] for row in rows] == ["pot", "can"]
    assert [[one["code"] for one in row["things"]] for row in rows] == [["tea", "cup"], ["jug"]]


def test_elements_of_a_struct_that_gets_another_name_go_on_under_it(lake):
    own = declared(lake, ["game_name", "explode(basket.items) as item"])
    before(lake, own)
    newest = {"cart": {"lines": [{"code": "jug", "n": 4}]}}
    with pytest.raises(FeedError, match=r"names basket, which newer .* call cart"):
        taken(lake, STRUCTS, newest, **own)
    own = declared(lake, ["game_name", "explode(cart.items) as item"])
    with pytest.raises(FeedError, match=r"names a field items, which newer .* call lines"):
        lake.demux(**own).prepare(lake.spark)
    own = declared(lake, ["game_name", "explode(cart.lines) as item"])
    lake.values.pop()
    taken(lake, STRUCTS, newest, **own)
    assert sorted(row["item"]["code"] for row in lake.read("uno")) == ["cup", "jug", "tea"]
    kept = lake.read("uno")
    lake.redo(**own).rebuild(lake.bronze())
    assert [row["item"]["code"] for row in lake.read("uno")] == [r["item"]["code"] for r in kept]


@pytest.mark.parametrize("held", ["basket", "basket.items as again"])
def test_what_holds_the_array_is_not_repeated_beside_its_elements(lake, held):
    lake.topic.register_text(OLD)
    own = declared(lake, [held, "explode(basket.items) as item", "game_name"])
    with pytest.raises(FeedError, match="which each of its elements would repeat"):
        lake.demux(**own).prepare(lake.spark)
