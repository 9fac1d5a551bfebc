"""`routes`: a row in the tables of several keys, or as a whole in quarantine."""

import random
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml

from lake_assets.delta.multi_table_change import finish
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Judged
from lake_assets.silver.rows import ROW
from lake_assets.silver.rows_in_several_tables import are_first, spread_to_rows
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.silver.routing import bronze_rows, feed, open_events
from lake_assets_tests.silver.test_reprocess import dying

KIND = {"column": "kind", "keys": ["uno", "poker"], "aliases": {"UNO": "uno"}}

LEVEL = {"sql": "case when level > 10 then 'high' when level < 0 then 'uno' end", "keys": ["high"]}

AUDIT = {"header": "audit", "keys": ["audit"]}

ROUTES = [KIND, LEVEL, AUDIT]


@pytest.fixture
def lake(spark, settings):
    with open_events(spark, settings) as found:
        yield found


def test_what_is_said_of_one_copy_of_a_row_is_said_of_all():
    batch = pa.record_batch({ROW: pa.array([0, 1, 1, 1, 2, 4, 4], pa.int32())})
    mask = np.array([True, False, True, False, False, True, True])
    assert spread_to_rows(batch, mask).tolist() == [True, True, True, True, False, True, True]
    every = spread_to_rows(batch, mask, is_any=False)
    assert every.tolist() == [True, False, False, False, False, True, True]
    assert are_first(batch).tolist() == [True, True, False, False, True, True, False]
    assert spread_to_rows(batch.slice(0, 0), mask[:0]).tolist() == []


def test_rows_of_one_table_each_are_as_they_were():
    batch = pa.record_batch({"a": pa.array([1, 2])})
    mask = np.array([True, False])
    assert spread_to_rows(batch, mask) is mask
    assert are_first(batch).tolist() == [True, True]


VALUES = [
    {"kind": "UNO", "level": 1},
    {"kind": "poker", "level": 20},
    {"kind": None, "level": 20},
    {"kind": "uno", "level": -1},
    {"kind": "chess", "level": 20},
    {},
    b"no json",
    {"kind": "high", "level": 5},
]

HEADERS = [[("audit", b"audit")], *[None] * 6, [("audit", b"audit")]]


@pytest.mark.spark
def test_a_row_goes_once_to_each_table_that_a_route_names(lake):
    declared = feed(ROUTES)
    assert declared.keys == ("uno", "poker", "high", "audit")
    lake.take(declared, bronze_rows(*VALUES, headers=HEADERS))
    assert lake.offsets(declared) == {
        "uno": [0, 3],
        "poker": [1],
        "high": [1, 2, 7],
        "audit": [0, 7],
    }
    assert lake.refused()[:2] == [
        (4, "unknown_key", "kind = chess"),
        (5, "bad_key_name", f"kind = , {LEVEL['sql']} = , no header audit"),
    ]
    assert [(offset, reason) for offset, reason, _ in lake.refused()[2:]] == [(6, "undecodable")]
    assert lake.reports[-1].rows["quarantine_events"] == 3


@pytest.mark.spark
@pytest.mark.parametrize("as_text", [False, True])
def test_routes_are_computed_each_its_way(lake, as_text):
    by_spark = {"sql": "replace(lower(kind), ' ', '')", "keys": ["uno"]}
    declared = feed([by_spark, LEVEL, AUDIT], select=["*", "initcap(kind) as name"])
    rows = bronze_rows({"kind": "U NO", "level": 20}, {}, headers=HEADERS[:2], as_text=as_text)
    lake.take(declared, rows)
    assert lake.offsets(declared) == {"uno": [0], "high": [0], "audit": [0]}
    assert [row["name"] for row in lake.read(declared.silver_table("audit"))] == ["U No"]
    assert [offset for offset, _, _ in lake.refused()] == [1]


@pytest.mark.spark
def test_new_keys_get_their_tables_and_a_refused_one_holds_the_row_back(lake):
    declared = feed([{**KIND, "unknown": "create"}, LEVEL])
    lake.take(declared, bronze_rows(*VALUES, {"kind": "Bad Name", "level": 20}))
    assert lake.offsets(declared, "chess", "high") == {"chess": [4], "high": [1, 2, 4, 7]}
    assert (8, "bad_key_name", "kind = Bad Name") in lake.refused()


@pytest.mark.spark
@pytest.mark.parametrize("sqls", [("level < 50", "level > 15"), ("exp(level) < 1e20", "level>15")])
def test_a_row_is_quarantined_as_a_whole_and_dropped_from_each_table(lake, sqls):
    low, enough = sqls
    declared = feed(
        [KIND, LEVEL],
        expectations=[
            {"name": "low", "sql": low, "action": "quarantine", "keys": ["high"]},
            {"name": "enough", "sql": enough, "action": "drop", "keys": ["poker"]},
            {"name": "known", "sql": "kind is not null", "keys": ["high"]},
        ],
    )
    rows = [
        {"kind": "poker", "level": 20},
        {"kind": "poker", "level": 60},
        {"kind": "poker", "level": 12},
        {"kind": "uno", "level": 99},
        {"kind": None, "level": 30},
    ]
    lake.take(declared, bronze_rows(*rows))
    assert lake.offsets(declared) == {"uno": [], "poker": [0], "high": [0, 2, 4]}
    assert lake.refused() == [(1, "expectation", "low"), (3, "expectation", "low")]
    report = lake.reports[-1]
    assert report.dropped == {"uno": 0, "poker": 1, "high": 0}
    judged = report.judged["high", "known"]
    assert (judged.seen, judged.violated) == (5, 1)
    assert isinstance(judged, Judged)
    assert lake.redo(feed([KIND, LEVEL])).requeue().rows == {
        "silver_poker_events": 1,
        "silver_uno_events": 1,
        "silver_high_events": 2,
    }
    assert lake.offsets(declared) == {"uno": [3], "poker": [0, 1], "high": [0, 1, 2, 3, 4]}
    assert lake.refused() == []


def tables_of(value, chess_is_known):
    """By the routes, in Python; None where the row is refused."""
    known = {"uno": "uno", "UNO": "uno", "poker": "poker", "chess": chess_is_known and "chess"}
    kind, level = value.get("kind"), value.get("level")
    found = {known[kind]} if kind else set()
    if level is not None and level > 10:
        found.add("high")
    if level is not None and level < 0:
        found.add("uno")
    return None if False in found or None in found or not found else found


def refuses(key, value, least):
    return key == "high" and value["level"] < least


def expected(values, least, *, chess_is_known):
    tables, refused = {}, []
    for offset, value in enumerate(values):
        keys = tables_of(value, chess_is_known)
        if keys is None or any(refuses(key, value, least) for key in keys):
            refused.append(offset)
            continue
        for key in keys:
            tables.setdefault(key, []).append(offset)
    return tables, refused


def declared_as(least, *, chess_is_known):
    kind = {**KIND, "keys": ["uno", "poker", *(["chess"] if chess_is_known else [])]}
    sql = f"level >= {least}"
    bar = {"name": "bar", "sql": sql, "action": "quarantine", "keys": ["high"]}
    return feed([kind, LEVEL], expectations=[bar])


@pytest.mark.spark
@pytest.mark.parametrize("seed", with_long(range(3), long=[1, 2]))
def test_any_rebuild_and_requeue_leave_what_the_routes_say(lake, seed):
    chance = random.Random(seed)  # noqa: S311 - nothing is kept secret
    values = [
        {
            "kind": chance.choice([None, "uno", "UNO", "poker", "chess"]),
            "level": chance.choice([None, -5, 5, 15, 25]),
        }
        for _ in range(60)
    ]
    rows = bronze_rows(*values)
    before = declared_as(20, chess_is_known=False)
    lake.take(before, rows)

    def holds(declared, least, *, chess_is_known):
        tables, refused = expected(values, least, chess_is_known=chess_is_known)
        assert {key: found for key, found in lake.offsets(declared).items() if found} == tables
        assert [offset for offset, _, _ in lake.refused()] == refused

    holds(before, 20, chess_is_known=False)
    for key in chance.sample(["uno", "poker", "high"], 2):
        lake.redo(before).rebuild(lake.bronze(rows), [key])
        holds(before, 20, chess_is_known=False)
    later = declared_as(10, chess_is_known=True)
    if chance.random() < 0.5:
        lake.redo(later).requeue()
    else:
        # Rows that are of these keys as well as of others come to all of them.
        lake.redo(later).rebuild(lake.bronze(rows), ["chess", "high"])
    holds(later, 10, chess_is_known=True)
    stricter = declared_as(20, chess_is_known=True)
    lake.redo(stricter).rebuild(lake.bronze(rows), ["high"])
    holds(stricter, 20, chess_is_known=True)
    lake.redo(before).rebuild(lake.bronze(rows))
    tables, refused = expected(values, 20, chess_is_known=False)
    assert lake.offsets(before)["high"] == tables["high"]
    assert lake.offsets(before, "chess") == {"chess": []}
    assert [offset for offset, _, _ in lake.refused()] == refused


@pytest.mark.spark
def test_the_example_of_the_page_is_true(lake):
    page = (Path(__file__).parents[2] / "docs" / "routes.md").read_text()
    section = page.split("## Several tables")[1].split("\n## ")[0]
    (text,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    declared = Feed.model_validate(yaml.safe_load(text))
    rows = [{"game": "poker", "stake": 2000}, {"game": "uno", "stake": 5}]
    lake.take(declared, bronze_rows(*rows, headers=[[("audit", b"yes")], None]))
    assert lake.offsets(declared) == {
        "uno": [1],
        "poker": [0],
        "high_stakes": [0],
        "audited": [0],
    }


ONCE = {"key": ["kind"], "within": "1h", "time": "at"}


@pytest.mark.spark
def test_rows_that_change_places_are_no_duplicates_of_each_other(lake):
    def declared(one, other):
        sql = f"case when level = 1 then '{one}' else '{other}' end"
        return feed({"sql": sql, "keys": ["uno", "poker"]}, deduplicate=ONCE)

    event = {"kind": "e", "at": "2026-11-25T10:00:00Z"}
    rows = bronze_rows({**event, "level": 1}, {**event, "level": 2})
    lake.take(declared("uno", "poker"), rows)
    swapped = declared("poker", "uno")
    lake.redo(swapped).rebuild(lake.bronze(rows), ["uno"])
    assert lake.offsets(swapped) == {"uno": [1], "poker": [0]}


@pytest.mark.spark
def test_nor_is_one_a_duplicate_of_a_row_that_leaves_the_table_and_stays_in_another(lake):
    def declared(level):
        high = {"sql": f"case when level = {level} then 'high' end", "keys": ["high"]}
        return feed([KIND, high], deduplicate={**ONCE, "key": ["at"]})

    event = {"at": "2026-11-25T10:00:00Z"}
    rows = bronze_rows({**event, "kind": "uno", "level": 1}, {**event, "kind": "poker", "level": 2})
    lake.take(declared(1), rows)
    lake.redo(declared(2)).rebuild(lake.bronze(rows), ["uno", "poker"])
    assert lake.offsets(declared(2)) == {"uno": [0], "poker": [1], "high": [1]}


@pytest.mark.spark
def test_a_row_that_all_its_tables_drop_leaves_those_whose_keys_are_not_rebuilt(lake):
    values = [{"kind": "uno", "level": level} for level in (20, 30, 5)]
    values += [{"kind": "poker", "level": 20}]
    rows = bronze_rows(*values)
    lake.take(feed([KIND, LEVEL]), rows)
    big = feed([KIND, LEVEL], expectations=[{"name": "big", "sql": "level > 25", "action": "drop"}])
    redo = dying(lake.redo(big))
    with suppress(KeyboardInterrupt):
        redo.rebuild(lake.bronze(rows), ["uno"])
    finish(redo.journal, lake.context.committer)
    # The poker row is no row of uno, and waits for a rebuild of its own.
    assert lake.offsets(big) == {"uno": [1], "poker": [3], "high": [1, 3]}
    lake.redo(big).rebuild(lake.bronze(rows), ["poker"])
    assert lake.offsets(big) == {"uno": [1], "poker": [], "high": [1]}
