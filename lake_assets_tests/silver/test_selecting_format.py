"""A feed's `select` and `mask`: computed in tasks and by Spark, with the same rows."""

import json
import re
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from lake_assets.delta.commit import Batch
from lake_assets.errors import FeedError, LakeError
from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import quarantine_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.silver.selecting import COLUMNS, Silver, beat, feed, without_origin

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "transforms.md"


@pytest.fixture
def silver(spark, settings):
    with ExitStack() as stack:
        yield Silver(spark, stack.enter_context(open_lake(settings)), settings)


RENAMED = ["time as event_time", "model", "heart_bpm / 60d as heart_hz", "owner.level + 1 as next"]


def test_columns_are_renamed_computed_and_left_out(silver):
    declared = feed(RENAMED)
    silver.take(declared, beat(), beat(heart_bpm=None, owner=None))
    first, second = map(without_origin, silver.rows(declared))
    assert first["heart_hz"] == 1.5
    assert first["next"] == 8
    assert first.keys() == {"event_time", "model", "heart_hz", "next"}
    assert (second["heart_hz"], second["next"]) == (None, None)
    assert not silver.by_spark


@pytest.mark.parametrize("more", [(), ("date_format(TIME, 'E') as weekday",)])
def test_names_may_be_written_in_any_case(silver, more):
    declared = feed(["model", "Heart_BPM", "TIME as event_time", "HEART_BPM + 1 as next", *more])
    declared = declared.model_copy(
        update={"expectations": (Expectation(name="is_next", sql="NEXT > heart_bpm"),)}
    )
    silver.take(declared, beat())
    (row,) = silver.rows(declared)
    assert (row["Heart_BPM"], row["next"]) == (90, 91)


def test_what_tasks_cannot_compute_spark_does_in_the_same_batch(silver):
    declared = feed([*RENAMED, "date_format(time, 'E') as weekday", "array(heart_bpm, 1) as both"])
    silver.take(declared, beat(), b"no json", beat(model="vita", heart_bpm=30))
    (row,) = silver.rows(declared)
    assert (row["weekday"], row["both"], row["heart_hz"]) == ("Wed", [90, 1], 1.5)
    assert [one["heart_hz"] for one in silver.rows(declared, "vita")] == [0.5]
    (refused,) = silver.read(quarantine_of("tracker"))
    assert (refused["value"], refused["reason"]) == (b"no json", "undecodable")
    assert silver.by_spark


BOTH = [
    ["*", "upper(model) as kind"],
    ["*", "upper(model) as kind", "date_format(time, 'E') as weekday"],
]


@pytest.mark.parametrize("select", BOTH)
def test_expectations_and_route_see_what_is_selected(silver, select):
    declared = feed(
        select,
        route={"column": "kind_of", "keys": ["pulse", "vita"]},
        expectations=[
            {"name": "is_upper", "sql": "kind = 'PULSE'", "action": "quarantine"},
            {"name": "is_slow", "sql": "sqrt(heart_bpm) < 10", "action": "drop"},
        ],
    ).model_copy(update={"select": (*select, "lower(kind) as kind_of")})
    silver.take(declared, beat(), beat(model="vita"), beat(heart_bpm=400))
    assert [row["kind"] for row in silver.rows(declared)] == ["PULSE"]
    (refused,) = silver.read(quarantine_of("tracker"))
    assert (refused["reason"], refused["detail"]) == ("expectation", "is_upper")
    assert json.loads(refused["value"])["model"] == "vita"


def test_a_value_of_which_arrow_is_not_sure_is_left_to_spark(silver):
    declared = feed(["*", "lower(owner.mail) as mail"])
    demux = silver.take(declared, beat())
    assert not silver.by_spark
    later = Batch("query", 1)
    silver.take(declared, beat(owner={"mail": "ÄNNE"}), batch=later, demux=demux)
    assert silver.by_spark
    assert sorted(row["mail"] for row in silver.rows(declared)) == ["ann@example.com", "änne"]


def test_with_a_star_new_columns_come_along_and_stay_after_a_restart(silver):
    declared = feed(
        ["* except (owner)", "owner.mail as mail"], payload={"on_unknown": "add_columns"}
    )
    silver.take(declared, beat(steps=5))
    silver.take(declared, beat(steps=6, watts=1.5), batch=Batch("query", 1))
    rows = silver.rows(declared)
    assert {(row["steps"], row["watts"]) for row in rows} == {(5, None), (6, 1.5)}
    assert "owner" not in rows[0]


def test_a_column_that_is_selected_no_more_stays_and_is_null(silver):
    silver.take(feed(["*", "heart_bpm * 2 as twice"]), beat())
    declared = feed(["* except (heart_bpm)"])
    silver.take(declared, beat(), batch=Batch("query", 1))
    rows = silver.rows(declared)
    assert {(row["twice"], row["heart_bpm"]) for row in rows} == {(180, 90), (None, None)}


def test_a_type_that_does_not_go_with_the_table_is_refused_before_anything_is_written(silver):
    silver.take(feed(["*", "heart_bpm * 2 as twice"]), beat())
    other = feed(["*", "cast(heart_bpm as string) as twice"])
    with pytest.raises(Exception, match="column twice is int, and selected as string"):
        silver.take(other, beat(), batch=Batch("query", 1))
    assert len(silver.rows(other)) == 1


@pytest.mark.parametrize(
    ("item", "fact"),
    [
        ("'a' as one", "one is int, and selected as string"),
        ("1 as One", "one, .* One .* case alone"),
    ],
)
def test_what_does_not_go_with_tables_does_once_they_are_deleted(spark, settings, item, fact):
    declared = feed(["model", item])
    with open_lake(settings) as context:
        silver = Silver(spark, context, settings)
        silver.take(feed(["model", "1 as one"]), beat())
        with pytest.raises(LakeError, match=rf"column {fact}.*; or stop .* delete silver's tables"):
            silver.redo(declared).rebuild(silver.bronze(beat()))  # it keeps the columns
    for key in declared.keys:
        shutil.rmtree(settings.lake_dir / declared.silver_table(key).relative)
    with open_lake(settings) as context:
        silver = Silver(spark, context, settings)
        silver.redo(declared).rebuild(silver.bronze(beat()))
        assert silver.schema(declared.silver_table("pulse")).names[:2] == ["model", item[-3:]]


@pytest.mark.parametrize(
    ("select", "fact"),
    [
        (["hart_bpm"], "does not compile .*decoded columns are time, model"),
        (["model", "count(*) as rows"], "does not compile .*GROUP BY"),
        (["model", "stack(2, 1, 2) as one"], "makes several rows of one"),
        (["model", "(select 1) as one"], "makes several rows of one"),
        (["model", "now() as at"], "asks the clock"),
        (["model", "rand() as luck"], "asks the clock, chance"),
        (["*", "heart_bpm as model"], "makes two columns model"),
        (["*", "heart_bpm as Model"], "makes two columns"),
        (["*", "heart_bpm as _offset"], "makes a column _offset"),
        (["heart_bpm / 2d as model"], "makes model double, which holds no keys"),
        (["time"], "leaves out model, which says where a row goes"),
        (
            ["*", "null as nothing"],
            "'nothing' of select: is void, which silver's tables cannot have",
        ),
        (
            ["model", "make_ym_interval(1) as span"],
            "is interval .*, which silver's tables cannot have",
        ),
    ],
)
def test_what_cannot_be_selected_is_told_before_the_first_row(silver, spark, select, fact):
    with pytest.raises(FeedError, match=fact):
        silver.demux(feed(select)).prepare(spark)


MASKED = {
    "mask": {"mail": "hash", "card": "last4", "model_again": "redact"},
    "select": ["model", "owner.mail as mail", "card", "model as model_again", "_rescued"],
    "schema": f"{COLUMNS}, card string",
}


def test_texts_are_hidden_before_they_are_written(silver):
    declared = feed(**MASKED)
    cards = ["4111111111111111", "1234567", None]
    silver.take(declared, *(beat(card=card) for card in cards), beat(owner={"mail": None}))
    rows = silver.rows(declared)
    assert [row["card"] for row in rows[:3]] == ["***1111", "***", None]
    assert {row["model_again"] for row in rows} == {"***"}
    hashes = [row["mail"] for row in rows]
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(hashes[0]) == 64
    assert hashes[3] is None
    files = (silver.settings.lake_dir / declared.silver_table("pulse").relative).rglob("*.parquet")
    assert all(b"example.com" not in file.read_bytes() for file in files)


def test_what_does_not_fit_a_hidden_column_is_hidden_in_what_is_rescued(silver):
    declared = feed(**MASKED)
    silver.take(declared, beat(card=4111111111111111, owner="ann@example.com", steps=1.50))
    (row,) = silver.rows(declared)
    assert json.loads(row["_rescued"]) == {"card": "***", "owner": "***", "steps": 1.5}


@pytest.mark.parametrize(
    ("mask", "key", "fact"),
    [
        ({"mail": "hash"}, b"", "hashes texts, and there is no key"),
        ({"mail": "redact"}, b"", "names mail, which is no column of silver"),
        ({"heart_bpm": "redact"}, b"", "heart_bpm, which is int and no text"),
    ],
)
def test_what_cannot_be_hidden_is_told_before_the_first_row(silver, spark, mask, key, fact):
    with pytest.raises(FeedError, match=fact):
        silver.demux(feed(mask=mask), key).prepare(spark)


def test_the_example_of_the_documentation_is_true(silver):
    blocks = re.findall(r"```(?:yaml|json)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    declared = Feed.model_validate(yaml.safe_load(blocks[0]))
    silver.take(declared, json.loads(blocks[1]))
    (row,) = map(without_origin_but_rescued, silver.rows(declared))
    row["event_time"] = row["event_time"].strftime("%Y-%m-%dT%H:%M:%SZ")
    assert row == json.loads(blocks[2])
    assert not silver.by_spark


def test_the_example_of_keys_is_true(silver):
    blocks = re.findall(r"```(?:yaml|json)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    declared = Feed.model_validate(yaml.safe_load(blocks[3]))
    silver.take(declared, *json.loads(blocks[4]))
    for key, told in json.loads(blocks[5]).items():
        (row,) = silver.rows(declared, key)
        assert {n: v for n, v in row.items() if n in told or not n.startswith("_")} == told
    assert not silver.by_spark


def test_the_example_of_elements_is_true(silver):
    blocks = re.findall(r"```(?:yaml|json)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    declared = Feed.model_validate(yaml.safe_load(blocks[6]))
    silver.take(declared, json.loads(blocks[7]))
    rows = silver.read_all(declared.silver_table("north"))
    rows.sort(key=lambda row: row["_element"])
    have = [{**without_origin_but_rescued(row), "_element": row["_element"]} for row in rows]
    assert have == json.loads(blocks[8])
    assert not silver.by_spark


def without_origin_but_rescued(row):
    return {**without_origin(row), "_rescued": row["_rescued"]}
