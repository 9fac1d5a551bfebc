"""A row of silver for each element of an array: as Spark has them, and nothing halved or lost."""

import json
import re
from contextlib import ExitStack

import pytest

from lake_assets.delta.commit import Batch
from lake_assets.errors import FeedError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import Origin
from lake_assets.model.selected_names import names_taken
from lake_assets.model.tables import quarantine_of
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.trace import trace
from lake_assets_tests.silver.selecting import Silver, feed

pytestmark = pytest.mark.spark

COLUMNS = (
    "model string, at timestamp, items array<struct<sku: string, amount: int>>, "
    "basket struct<id: int, codes: array<int>>"
)

ITEMS = ["* except (items, basket)", "explode(items) as item", "item.sku as sku"]


@pytest.fixture
def silver(spark, settings):
    with ExitStack() as stack:
        yield Silver(spark, stack.enter_context(open_lake(settings)), settings)


def orders(select=ITEMS, **more):
    return feed(select, schema=COLUMNS, **more)


def order(*amounts, model="pulse", **more):
    items = [{"sku": f"s{amount}", "amount": amount} for amount in amounts]
    basket = {"id": len(amounts), "codes": list(amounts)}
    return {"model": model, "items": items, "basket": basket, **more}


def elements(silver, declared, key="pulse"):
    """By offset, the numbers of the elements that silver has."""
    found = {}
    for row in silver.read_all(declared.silver_table(key)):
        found.setdefault(row["_offset"], []).append(row["_element"])
    return {at: sorted(numbers, key=_none_last) for at, numbers in found.items()}


def _none_last(number):
    return (number is None, number)


def refused(silver):
    rows = silver.read_all(quarantine_of("tracker"))
    return {row["offset"]: (row["reason"], row["detail"]) for row in rows}


AS_SPARK = [
    (["model", "explode(items) as item"], "posexplode(items) as (_element, item)"),
    (["explode_outer(items) as item", "model"], "posexplode_outer(items) as (_element, item)"),
    (
        ["model", "basket.id as id", "explode(basket.codes) as code", "code + basket.id as sum"],
        "posexplode(basket.codes) as (_element, code)",
    ),
    (
        ["model", "posexplode(items) as (place, item)", "place + 1 as line"],
        "posexplode(items) as (place, item)",
    ),
    (["model", "inline(items)", "amount * 2 as twice", "sku || model as both"], "inline(items)"),
    (
        ["model", "inline_outer(items) as (a, b)", "size(items) as many"],
        "inline_outer(items) as (a, b)",
    ),
    (
        ["model", "posexplode_outer(basket.codes)", "col * 2 as twice"],
        "posexplode_outer(basket.codes)",
    ),
    (
        ["model", "explode(items)", "col.amount + 1 as next", "date_format(at, 'E') as day"],
        "explode(items)",
    ),
    (
        ["model", "EXPLODE (items) AS item", "sqrt(item.amount) as root", "_element + 1 as line"],
        "posexplode(items) as (_element, item)",
    ),
]


@pytest.mark.parametrize(("select", "generator"), AS_SPARK)
def test_rows_are_those_that_spark_makes(silver, spark, select, generator):
    declared = orders(select)
    values = [order(3, 4), order(), order(5, at="2026-11-25T10:00:00Z"), {"model": "pulse"}]
    values.append({"model": "pulse", "items": [None, {"sku": None}], "basket": {"codes": [None]}})
    silver.take(declared, *values)
    have = silver.read_all(declared.silver_table("pulse"))
    have.sort(key=lambda row: (row["_offset"], row["_element"] or 0))
    names = [name for name in have[0] if not name.startswith("_")]
    assert [{n: row[n] for n in names} for row in have] == by_spark(
        spark, select, generator, values, names
    )


def by_spark(spark, select, generator, values, names):
    """The same, of Spark alone: first the array's item, and then what reads its columns."""
    rows = spark.createDataFrame([(json.dumps(value),) for value in values], "value string")
    others = [i for i in select if not re.match("(pos)?explode|inline", i, re.IGNORECASE)]
    with without_ansi(spark):
        rows = rows.coalesce(1).selectExpr(f"from_json(value, '{COLUMNS}') as v").select("v.*")
        exploded = rows.selectExpr("*", generator)
        own = [n for n in names if n in exploded.columns and n not in rows.columns]
        return exploded.selectExpr(*others, *own).select(*names).toArrow().to_pylist()


def test_elements_are_told_apart_by_their_number(silver):
    declared = orders()
    silver.take(declared, order(7, 8, 9), order(5))
    assert elements(silver, declared) == {0: [0, 1, 2], 1: [0]}
    (schema,) = {str(silver.schema(declared.silver_table("pulse")).field("_element").type)}
    assert schema == "int32"


@pytest.mark.parametrize("more", [(), ("date_format(at, 'E') as day",)])
def test_values_without_elements_are_dropped_and_counted(silver, more):
    declared = orders([*ITEMS, *more])
    assert [one.name for one in declared.expectations] == ["has_elements"]
    assert Feed.model_validate(declared.model_dump()).expectations == declared.expectations
    silver.take(declared, order(), {"model": "pulse"}, order(1), {"model": "vita", "items": None})
    (report,) = silver.reports
    assert report.dropped == {"pulse": 2, "vita": 1}
    assert report.judged["pulse", "has_elements"].violated == 2
    assert elements(silver, declared) == {2: [0]}


def unfit(**more):
    """A value of which one element is no item."""
    value = order(1, 2, **more)
    value["items"][1]["amount"] = "two"
    return value


@pytest.mark.parametrize("more", [(), ("date_format(at, 'E') as day",)])
def test_a_value_whose_array_did_not_fit_waits_in_quarantine_until_it_does(silver, more):
    declared = orders([*ITEMS, *more])
    values = [order(1), unfit(), order(), {"model": "pulse", "items": "none"}, unfit(model="vita")]
    silver.take(declared, *values)
    assert silver.by_spark == bool(more)
    words = 'element 1: items[].amount is no int: "two"'
    told = {
        1: ("type_mismatch", words),
        3: ("type_mismatch", 'items is no array<struct<sku: string, amount: int>>: "none"'),
        4: ("type_mismatch", words),
    }
    assert refused(silver) == told
    (report,) = silver.reports
    assert report.dropped == {"pulse": 1}
    for keys in (None, ["pulse"]):
        silver.redo(declared).rebuild(silver.bronze(*values), keys)
        assert refused(silver) == told
        assert elements(silver, declared) == {0: [0]}
    assert silver.redo(declared).requeue().rows == {}


def test_a_requeue_takes_a_value_whose_array_fits_by_now(silver):
    value = {"model": "pulse", "items": [{"amount": "1"}, {"amount": "two"}]}
    silver.take(orders(["model", "explode(items) as item"]), value, order())
    assert refused(silver) == {0: ("type_mismatch", 'element 0: items[].amount is no int: "1"')}
    wide = feed(
        ["model", "explode(items) as line"], schema=COLUMNS.replace("amount: int", "amount: string")
    )
    for _ in range(2):
        silver.redo(wide).requeue()
        assert refused(silver) == {}
        rows = silver.read_all(wide.silver_table("pulse"))
        found = sorted((row["_element"], row["line"]["amount"]) for row in rows)
        assert found == [(0, "1"), (1, "two")]


def test_a_value_whose_array_did_not_fit_stays_where_values_without_elements_do(silver):
    declared = orders(["model", "_rescued", "explode_outer(items) as item"])
    silver.take(declared, unfit())
    (row,) = silver.read_all(declared.silver_table("pulse"))
    assert (row["_element"], row["item"]) == (None, None)
    assert json.loads(row["_rescued"])["items"] == unfit()["items"]


def test_a_value_that_brings_a_name_of_what_elements_have_stops_nothing(silver):
    hints = "model string, items array<struct<sku: string, amount: int>>"
    declared = Feed.model_validate(
        {
            "feed": "tracker",
            "source": {"kafka": {"topic": "tracker"}},
            "payload": {"json": {"infer": True, "hints": hints}},
            "route": {"column": "model", "unknown": "create"},
            "select": ["* except (items)", "inline(items)"],
        }
    )
    taken = Surroundings(registry_access=RegistryAccess(), taken=names_taken(declared))
    silver.decoding = lambda one: format_of(one, taken)
    items = [{"sku": "a", "amount": 1}, {"sku": "b", "amount": 2}]
    bad = [{"sku": "a", "amount": "x"}]
    values = [{"model": "new", "items": items, "sku": "top", "steps": 5}, {"model": "new"}]
    silver.take(declared, *values, {"model": "new", "items": bad, "steps": 1.5})
    rows = sorted(silver.read_all(declared.silver_table("new")), key=lambda row: row["_element"])
    assert [(row["sku"], row["steps"]) for row in rows] == [("a", 5), ("b", 5)]
    assert [row["_rescued"] for row in rows] == ['{"sku":"top"}', None]
    assert refused(silver) == {2: ("type_mismatch", 'element 0: items[].amount is no int: "x"')}


def test_values_without_elements_stay_where_that_is_asked_for(silver):
    declared = orders(["model", "explode_outer(items) as item"])
    assert declared.expectations == ()
    silver.take(declared, order(), order(1))
    assert elements(silver, declared) == {0: [None], 1: [0]}


def test_a_feed_may_say_what_becomes_of_values_without_elements(silver):
    own = {"name": "has_elements", "sql": "_element is not null", "action": "quarantine"}
    declared = orders(expectations=[own])
    silver.take(declared, order(), order(1))
    assert refused(silver) == {0: ("expectation", "has_elements")}
    assert elements(silver, declared) == {1: [0]}


POSITIVE = {"name": "is_positive", "sql": "item.amount > 0", "action": "quarantine"}
NOT_ROUND = {"name": "is_not_round", "sql": "sqrt(item.amount) < 10", "action": "quarantine"}


@pytest.mark.parametrize("more", [(), ("date_format(at, 'E') as day",)])
@pytest.mark.parametrize("rule", [POSITIVE, NOT_ROUND])
def test_one_bad_element_takes_its_whole_value_along_once(silver, more, rule):
    bad = -1 if rule is POSITIVE else 100
    declared = orders([*ITEMS, *more], expectations=[rule])
    values = [order(1, 2), order(3, bad, bad, 4), order(bad), order(5, 6)]
    silver.take(declared, *values)
    assert elements(silver, declared) == {0: [0, 1], 3: [0, 1]}
    name = rule["name"]
    assert refused(silver) == {
        1: ("expectation", f"element 1, and 1 more: {name}"),
        2: ("expectation", f"element 0: {name}"),
    }
    stored = {row["offset"]: row["value"] for row in silver.read_all(quarantine_of("tracker"))}
    assert [json.loads(stored[at]) for at in (1, 2)] == values[1:3]


def test_a_requeue_moves_whole_values_and_doubles_none(silver):
    silver.take(orders(expectations=[POSITIVE]), order(1, 2), order(3, -1), order(-2))
    later = orders(expectations=[{**POSITIVE, "sql": "item.amount > -2"}])
    for _ in range(2):
        silver.redo(later).requeue()
        assert elements(silver, later) == {0: [0, 1], 1: [0, 1]}
        assert list(refused(silver)) == [2]
    silver.redo(orders()).requeue(["pulse"])
    assert elements(silver, later) == {0: [0, 1], 1: [0, 1], 2: [0]}
    assert refused(silver) == {}


@pytest.mark.parametrize("keys", [None, ["pulse"]])
def test_a_rebuild_gives_the_same(silver, keys):
    values = [order(1, -2), order(3, 4), order(), order(5, model="vita")]
    silver.take(orders(), *values)
    strict = orders(expectations=[POSITIVE])
    silver.redo(strict).rebuild(silver.bronze(*values), keys)
    assert elements(silver, strict) == {1: [0, 1]}
    assert elements(silver, strict, "vita") == {3: [0]}
    assert list(refused(silver)) == [0]
    silver.redo(orders()).rebuild(silver.bronze(*values), keys)
    assert elements(silver, strict) == {0: [0, 1], 1: [0, 1]}
    assert refused(silver) == {}


BY_ELEMENT = {"route": {"column": "sku", "keys": ["s1", "s2"]}}


@pytest.mark.parametrize("read", [{"column": "item.sku"}, {"sql": "lower(item.sku)"}])
def test_elements_that_say_their_key_by_a_field_are_done_for_all_keys_at_once(silver, read):
    declared = orders(route={**read, "keys": ["s1", "s2"]})
    values = [order(1, 2, 1), order(2), order(1, 3)]
    silver.take(declared, *values)
    assert elements(silver, declared, "s2") == {0: [1], 1: [0]}
    with pytest.raises(FeedError, match="Do it for all keys at once"):
        silver.redo(declared).requeue(["s1"])
    with pytest.raises(FeedError, match="Do it for all keys at once"):
        silver.redo(declared).rebuild(silver.bronze(*values), ["s1"])


def test_elements_may_go_to_tables_of_their_own(silver):
    declared = orders(**BY_ELEMENT)
    values = [order(1, 2, 1), order(2), order(1, 3)]
    silver.take(declared, *values)
    assert elements(silver, declared, "s1") == {0: [0, 2]}
    assert elements(silver, declared, "s2") == {0: [1], 1: [0]}
    assert refused(silver) == {2: ("unknown_key", "element 1: sku = s3")}
    for act in (
        lambda redo: redo.requeue(["s1"]),
        lambda redo: redo.rebuild(silver.bronze(*values), ["s1"]),
    ):
        with pytest.raises(FeedError, match="Do it for all keys at once"):
            act(silver.redo(declared))
    assert refused(silver) == {2: ("unknown_key", "element 1: sku = s3")}
    wider = orders(route={"column": "sku", "keys": ["s1", "s2", "s3"]})
    silver.redo(wider).requeue()
    assert elements(silver, wider, "s1") == {0: [0, 2], 2: [0]}
    assert elements(silver, wider, "s3") == {2: [1]}
    assert refused(silver) == {}


def test_what_cannot_be_decoded_is_refused_once(silver):
    declared = orders()
    silver.take(declared, b"no json", order(1), None)
    assert {at: reason for at, (reason, _) in refused(silver).items()} == {
        0: "undecodable",
        2: "empty_value",
    }


def test_ten_thousand_elements_do_not_repeat_their_value(silver):
    declared = orders(
        ["model", "inline(items)", "basket.id as id"],
        expectations=[{"name": "is_small", "sql": "amount < 10000", "action": "quarantine"}],
    )
    silver.take(declared, order(*range(10_000)), order(*range(10_001)))
    assert len(elements(silver, declared)[0]) == 10_000
    assert list(refused(silver)) == [1]


@pytest.mark.parametrize("more", [(), ("_rescued || date_format(at, 'E') as both",)])
def test_what_did_not_fit_of_a_value_is_beside_its_first_element_alone(silver, more):
    declared = orders(["model", "_rescued", "at", "length(_rescued) > 0 as odd", *ITEMS[1:], *more])
    value = order(*range(20_000), at="2026-11-25T10:00:00Z")
    value["items"][-1]["colour"] = "red"
    silver.take(declared, value, order(1))
    assert silver.by_spark == bool(more)
    rows = silver.read_all(declared.silver_table("pulse"))
    rows.sort(key=lambda row: (row["_offset"], row["_element"]))
    assert len(rows) == 20_001
    first = rows[0]
    assert json.loads(first["_rescued"])["items"][-1]["colour"] == "red"
    assert first["odd"] is True
    assert {(row["_rescued"], row["odd"]) for row in rows[1:]} == {(None, None)}
    if more:
        assert first["both"].startswith(first["_rescued"])
        assert {row["both"] for row in rows[1:]} == {None}


def test_a_batch_of_other_code_goes_on_with_tables_that_have_no_elements_yet(silver):
    silver.take(orders(["model"]), order(1, 2))
    declared = orders(["model", "explode(items) as item"])
    silver.take(declared, order(3, 4), batch=Batch("query", 1))
    rows = silver.read_all(declared.silver_table("pulse"))
    assert sorted(row["_element"] if row["item"] else -1 for row in rows) == [-1, 0, 1]


@pytest.mark.parametrize("select", [(), ("*",), ("* except (items)", "size(items) as many")])
def test_a_feed_may_make_rows_of_elements_no_more(silver, select):
    silver.take(orders(), order(1, 2))
    later = orders(select)
    silver.take(later, order(3, 4), batch=Batch("query", 1))
    assert elements(silver, later) == {0: [0, 1, None]}


def test_a_text_of_which_arrow_is_not_sure_is_left_to_spark(silver):
    declared = orders([*ITEMS, "lower(item.sku) as low"])
    silver.take(declared, {"model": "pulse", "items": [{"sku": "A"}, {"sku": "Ä"}]}, order())
    assert silver.by_spark
    rows = silver.read_all(declared.silver_table("pulse"))
    assert sorted(row["low"] for row in rows) == ["a", "ä"]


@pytest.mark.parametrize(
    ("select", "fact"),
    [
        (["model", "explode(items) as a", "explode(basket.codes) as b"], "elements of two arrays"),
        (["model", "explode(array(1, 2)) as one"], "elements of array.*, which is computed"),
        (["model", "explode(map('a', model)) as (k, v)"], "which is computed"),
        (["model", "explode(itemz) as item"], "does not compile .*itemz"),
        (["model", "explode(model) as item"], "does not compile"),
        (["model", "explode(items) as at"], "calls what an element gives at"),
        (["*", "explode(items) as item"], "makes items of items, which each .* repeat"),
        (["model", "basket", "explode(basket.codes) as c"], "makes basket of basket"),
        (["model", "basket.codes as all", "explode(basket.codes) as c"], "makes all of basket"),
        (["model", "explode(items) as item", "to_json(items) as text"], "makes text of items"),
        (["model", "explode(items) as item", "item.colour as colour"], "does not compile .*colour"),
        (["model", "explode(items) as item", "model as _element"], "column _element"),
        (["model", "explode(items).sku as sku"], "does not compile"),
    ],
)
def test_what_cannot_be_exploded_is_told_before_the_first_row(silver, spark, select, fact):
    with pytest.raises(FeedError, match=fact):
        silver.demux(orders(select)).prepare(spark)


def test_a_trace_counts_the_rows_of_a_value(silver):
    declared = orders(**BY_ELEMENT)
    silver.take(declared, order(1, 2, 1))
    found = trace(silver.settings, declared, Origin("t", 0, 0), None)
    assert {place.key: place.rows for place in found.places} == {"s1": 2, "s2": 1}
