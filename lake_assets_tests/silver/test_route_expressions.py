"""Routes by fields and expressions, computed in tasks and by Spark, with the same rows."""

import re
from pathlib import Path

import pytest
import yaml

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.route_by_spark import routes_by_spark
from lake_assets_tests.silver.routing import bronze_rows, feed, open_events

pytestmark = pytest.mark.spark

KEYS = ["uno", "poker"]

PAGE = (Path(__file__).parents[2] / "docs" / "routes.md").read_text()


@pytest.fixture
def lake(spark, settings):
    with open_events(spark, settings) as found:
        yield found


def is_by_spark(lake, demux):
    return routes_by_spark(demux.next_job(lake.spark).plan)


ROWS = [
    {"kind": "UNO", "level": 1, "payload": {"kind": "uno", "deep": {"n": 1}}},
    {"kind": "Poker", "level": 2, "payload": {"kind": "poker", "deep": {"n": 2}}},
    {"kind": None, "level": None, "payload": None},
    {"kind": "Chess", "level": 3, "payload": {"kind": "chess"}},
]


@pytest.mark.parametrize(
    ("route", "by_spark", "details"),
    [
        ({"column": "payload.kind"}, False, ["payload.kind = ", "payload.kind = chess"]),
        ({"sql": "lower(kind)"}, False, ["lower(kind) = ", "lower(kind) = chess"]),
        ({"sql": "replace(lower(kind), 'x', '')"}, True,
         ["replace(lower(kind), 'x', '') = ", "replace(lower(kind), 'x', '') = chess"]),
        ({"sql": "level -- a comment", "aliases": {"1": "uno", "2": "poker"}}, False,
         ["level -- a comment = ", "level -- a comment = 3"]),
        ({"column": "payload.deep.n", "aliases": {"1": "uno", "2": "poker"}}, False,
         ["payload.deep.n = ", "payload.deep.n = "]),
        ({"column": "kind", "aliases": {"UNO": "uno", "Uno": "uno", "Poker": "poker"}}, False,
         ["kind = ", "kind = Chess"]),
    ],
)  # fmt: skip
def test_a_row_goes_where_what_is_read_says(lake, route, by_spark, details):
    declared = feed({**route, "keys": KEYS})
    demux = lake.take(declared, bronze_rows(*ROWS, b"no json"))
    assert lake.offsets(declared) == {"uno": [0], "poker": [1]}
    refused = lake.refused()
    assert [detail for _, _, detail in refused[:2]] == details
    assert [offset for offset, _, _ in refused] == [2, 3, 4]
    assert {refused[0][1], refused[2][1]} == {"bad_key_name", "undecodable"}
    assert is_by_spark(lake, demux) == by_spark


def test_a_key_by_an_alias_gets_its_tables_with_its_first_row(lake):
    declared = feed({"column": "kind", "unknown": "create", "aliases": {"Poker": "poker"}})
    lake.take(declared, bronze_rows(*ROWS, {"kind": "poker"}))
    assert lake.offsets(declared, "poker") == {"poker": [1, 4]}
    assert [reason for _, reason, _ in lake.refused()] == ["bad_key_name"] * 3


@pytest.mark.parametrize("select", [["*", "lower(kind) as low"], ["*", "initcap(kind) as low"]])
@pytest.mark.parametrize("sql", ["lower(low)", "regexp_replace(lower(low), '[^a-z]', '')"])
@pytest.mark.parametrize("condition", ["level > 0", "sqrt(level) > 0"])
def test_select_route_and_expectations_are_computed_each_its_way(lake, select, sql, condition):
    declared = feed(
        {"sql": sql, "keys": KEYS},
        select=select,
        expectations=[{"name": "has_level", "sql": condition, "action": "quarantine"}],
    )
    lake.take(declared, bronze_rows(*ROWS, {"kind": "uno", "level": None}))
    assert lake.offsets(declared) == {"uno": [0], "poker": [1]}
    assert [offset for offset, _, _ in lake.refused()] == [2, 3, 4]
    assert lake.refused()[2][1:] == ("expectation", "has_level")


def test_a_text_of_which_arrow_is_not_sure_is_left_to_spark(lake):
    declared = feed({"sql": "lower(kind)", "keys": KEYS, "aliases": {"äpfel": "uno"}})
    demux = lake.take(declared, bronze_rows({"kind": "UNO"}))
    assert not is_by_spark(lake, demux)
    lake.take(declared, bronze_rows(b"{}", {"kind": "ÄPFEL"}, {"kind": "POKER"}), demux)
    assert is_by_spark(lake, demux)
    assert lake.offsets(declared) == {"uno": [0, 1], "poker": [2]}


def test_a_route_sees_masked_texts_as_they_are_written(lake):
    declared = feed(
        {"sql": "substring(kind, 1, 3)", "keys": ["uno"], "aliases": {"***": "uno"}},
        mask={"kind": "redact"},
    )
    lake.take(declared, bronze_rows({"kind": "poker"}))
    assert lake.offsets(declared) == {"uno": [0]}


def test_a_column_that_rows_bring_along_is_read_from_then_on(lake):
    declared = feed({"sql": "lower(game)", "keys": KEYS}, payload={"on_unknown": "add_columns"})
    demux = lake.take(declared, bronze_rows({"kind": "UNO"}))
    lake.take(declared, bronze_rows(b"{}", {"game": "Uno"}), demux)
    assert lake.offsets(declared)["uno"] == [1]
    assert lake.refused()[0] == (0, "bad_key_name", "lower(game) = ")


@pytest.mark.parametrize(
    ("route", "fact"),
    [
        ({"sql": "lower(knd)"}, "route of feed 'events': does not compile .*columns are kind"),
        ({"sql": "lower(kind"}, "does not compile"),
        ({"sql": "kind as x"}, "does not compile"),
        ({"sql": "max(kind)"}, "makes several rows of one, or one of several"),
        ({"sql": "(select 'uno')"}, "makes several rows of one"),
        ({"sql": "explode(array(kind))"}, "makes several rows of one"),
        ({"sql": "if(now() > at, 'uno', 'poker')"}, "asks the clock, chance or the session"),
        ({"sql": "payload"}, "reads payload, which is struct.* and holds no keys.*cast"),
        ({"sql": "level / 2"}, "reads level / 2, which is double and holds no keys"),
        ({"sql": "kind, level"}, "holds no keys"),
        ({"column": "payload.knd"}, "does not compile .*No such struct field `knd`"),
        ({"column": "kind.deep"}, "does not compile"),
    ],
)
def test_what_cannot_be_read_is_told_before_the_first_row(lake, spark, route, fact):
    with pytest.raises(FeedError, match=fact):
        lake.demux(feed({**route, "keys": KEYS})).prepare(spark)


def test_the_example_of_the_page_is_true(lake):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.split("## What a route reads")[0], re.DOTALL)
    declared = Feed.model_validate(yaml.safe_load(text))
    rows = re.findall(r"^\| `(\{.*?\})` \| (.*) \|$", PAGE, re.MULTILINE)
    lake.take(declared, bronze_rows(*(value.encode() for value, _ in rows)))
    places = {
        row["_offset"]: f"`{table.name}`"
        for table in map(declared.silver_table, declared.keys)
        for row in lake.read(table)
    }
    refused = {
        row["offset"]: f"`quarantine_play`: `{row['reason']}`, `{row['detail']}`"
        for row in lake.read(quarantine_of("play"))
    }
    found = {**places, **refused}
    assert [found[offset] for offset in range(len(rows))] == [told for _, told in rows]
    assert len(rows) == 4
