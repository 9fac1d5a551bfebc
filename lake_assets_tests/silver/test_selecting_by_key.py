"""Keys' own selects and masks: computed once rows are routed, in tasks and by Spark."""

import json
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.errors import FeedError, LakeError
from lake_assets.gold.refresh import refresh
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Judged
from lake_assets.model.selected_names import names_taken, with_masked_as_text
from lake_assets.model.tables import quarantine_of
from lake_assets.silver import selecting_by_key_format
from lake_assets.silver.recount_expectations import count
from lake_assets.silver.selection import select
from lake_assets.silver.transforming_format import with_transform
from lake_assets.spark.columns_of_keys import columns_of_keys
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.silver.selecting import KEY, Silver, beat, feed, without_origin

pytestmark = pytest.mark.spark


@pytest.fixture
def silver(spark, settings):
    with ExitStack() as stack:
        yield Silver(spark, stack.enter_context(open_lake(settings)), settings)


def columns(silver, declared, key):
    names = silver.schema(declared.silver_table(key)).names
    return {name for name in names if not name.startswith("_")}


PULSE = ["heart_bpm / 60d as heart_hz", "owner.mail as mail"]

BY_SPARK = "date_format(time, 'E') as weekday"


@pytest.mark.parametrize("more", [[], [BY_SPARK]])
def test_each_table_has_what_its_key_selects(silver, more):
    declared = feed(selects={"pulse": [*PULSE, *more]})
    silver.take(declared, beat(), beat(model="vita", heart_bpm=30), b"no json", beat(heart_bpm=30))
    days = {"weekday": "Wed"} if more else {}
    assert [without_origin(row) for row in silver.rows(declared)] == [
        {"heart_hz": 1.5, "mail": "ann@example.com", **days},
        {"heart_hz": 0.5, "mail": "ann@example.com", **days},
    ]
    (other,) = silver.rows(declared, "vita")
    assert without_origin(other).keys() == {"time", "model", "heart_bpm", "owner"}
    assert other["heart_bpm"] == 30
    (refused,) = silver.read(quarantine_of("tracker"))
    assert refused["value"] == b"no json"


def test_a_key_selects_of_what_the_feed_selects(silver):
    declared = feed(
        ["model", "heart_bpm + 1 as next", "date_format(time, 'E') as day"],
        selects={"pulse": ["next * 2 as twice", "day"], "vita": ["concat(day, '!') as loud"]},
    )
    silver.take(declared, beat(), beat(model="vita"))
    assert [without_origin(row) for row in silver.rows(declared)] == [{"twice": 182, "day": "Wed"}]
    assert [without_origin(row) for row in silver.rows(declared, "vita")] == [{"loud": "Wed!"}]


def test_two_keys_that_spark_computes_for_each_have_their_own_rows(silver):
    declared = feed(
        selects={
            "pulse": ["*", "date_format(time, 'E') as at", "heart_bpm + 1 as next"],
            "vita": [
                "date_format(time, 'MMM') as at",
                "concat(at, '!') as loud",
                "repeat(model, 2) as m",
            ],
        }
    )
    models = ["vita", "pulse", "vita", "vita", "pulse"]
    silver.take(declared, *(beat(model=m, heart_bpm=n) for n, m in enumerate(models)))
    assert [(r["at"], r["next"], r["heart_bpm"]) for r in silver.rows(declared)] == [
        ("Wed", 2, 1),
        ("Wed", 5, 4),
    ]
    vita = [without_origin(row) for row in silver.rows(declared, "vita")]
    assert vita == [{"at": "Nov", "loud": "Nov!", "m": "vitavita"}] * 3


@pytest.mark.parametrize("more", [[], [BY_SPARK]])
def test_expectations_see_what_the_key_makes_and_null_of_others(silver, more):
    declared = feed(
        selects={"pulse": ["* except (heart_bpm)", "heart_bpm / 60d as hz", *more]},
        expectations=[
            {"name": "slow", "sql": "hz < 2", "action": "quarantine", "keys": ["pulse"]},
            {"name": "none", "sql": "hz is null or heart_bpm is null", "action": "drop"},
            {"name": "kept", "sql": "heart_bpm > 0", "keys": ["vita"], "action": "drop"},
        ],
    )
    silver.take(declared, beat(), beat(heart_bpm=180), beat(model="vita", heart_bpm=500))
    assert [row["hz"] for row in silver.rows(declared)] == [1.5]
    assert [row["heart_bpm"] for row in silver.rows(declared, "vita")] == [500]
    (refused,) = silver.read(quarantine_of("tracker"))
    assert (refused["reason"], refused["detail"]) == ("expectation", "slow")
    assert json.loads(refused["value"])["heart_bpm"] == 180


@pytest.mark.parametrize("more", [[], ["repeat(owner.mail, 1) as again"]])
def test_masks_hide_what_the_key_makes(silver, more):
    declared = feed(
        ["*", "owner.mail as mail"],
        selects={"pulse": ["model", "upper(mail) as mail", "mail like '%@%' as is_mail", *more]},
        mask={"mail": "last4"},
        masks={
            "pulse": {"mail": "redact", **({"again": "hash"} if more else {})},
            "vita": {"model": "redact"},
        },
    )
    odd = {"mail": 7, "level": 1}
    silver.take(declared, beat(), beat(model="vita"), beat(model="vita", owner=odd))
    (pulse,) = silver.rows(declared)
    assert (pulse["mail"], pulse["is_mail"], pulse["model"]) == ("***", True, "pulse")
    if more:
        assert len(pulse["again"]) == 64
    vita, rescued = silver.rows(declared, "vita")
    assert (vita["mail"], vita["model"]) == ("***.com", "***")
    assert "7" not in rescued["_rescued"]


def test_a_row_of_several_tables_is_in_each_as_its_key_selects(silver):
    declared = feed(
        route=None,
        routes=[
            {"column": "model", "keys": ["pulse", "vita"]},
            {"sql": "if(heart_bpm > 100, 'fast', null)", "keys": ["fast"]},
        ],
        selects={"fast": ["heart_bpm / 60d as hz"], "pulse": ["* except (owner)"]},
    )
    silver.take(declared, beat(), beat(heart_bpm=120), beat(model="vita", heart_bpm=180))
    assert [without_origin(row) for row in silver.rows(declared, "fast")] == [
        {"hz": 2.0},
        {"hz": 3.0},
    ]
    assert [row["heart_bpm"] for row in silver.rows(declared)] == [90, 120]
    assert columns(silver, declared, "pulse") == {"time", "model", "heart_bpm"}
    assert columns(silver, declared, "vita") == {"time", "model", "heart_bpm", "owner"}


def test_keys_that_are_created_have_what_all_have_or_their_own(silver):
    declared = feed(
        route={"column": "model", "unknown": "create"}, selects={"vita": ["heart_bpm as beats"]}
    )
    silver.take(declared, beat(model="new"), beat(model="vita"))
    assert [without_origin(row) for row in silver.rows(declared, "vita")] == [{"beats": 90}]
    assert columns(silver, declared, "new") == {"time", "model", "heart_bpm", "owner"}
    silver.take(declared, beat(model="other"), beat(model="vita"), batch=Batch("query", 1))
    assert len(silver.rows(declared, "vita")) == 2
    assert columns(silver, declared, "other") == {"time", "model", "heart_bpm", "owner"}


def test_a_value_of_which_arrow_is_not_sure_is_left_to_spark(silver):
    declared = feed(selects={"pulse": ["lower(owner.mail) as mail"]})
    demux = silver.take(declared, beat(), beat(model="vita", owner={"mail": "ÄNNE"}))
    assert demux.next_job(silver.spark).is_all_in_tasks
    silver.take(declared, beat(owner={"mail": "ÄNNE"}), batch=Batch("query", 1), demux=demux)
    assert not demux.next_job(silver.spark).is_all_in_tasks
    assert sorted(row["mail"] for row in silver.rows(declared)) == ["ann@example.com", "änne"]


@pytest.mark.parametrize("restarted", [True, False])
def test_new_columns_come_along_where_a_star_has_them(silver, restarted):
    declared = feed(
        selects={"pulse": ["* except (owner)"], "vita": ["heart_bpm as beats"]},
        payload={"on_unknown": "add_columns"},
    )
    demux = silver.take(declared, beat(steps=5), beat(model="vita", steps=6))
    demux = None if restarted else demux
    silver.take(declared, beat(steps=7, watts=1.5), batch=Batch("query", 1), demux=demux)
    silver.take(declared, beat(model="vita"), batch=Batch("query", 2))
    rows = [(row["steps"], row["watts"]) for row in silver.read_all(declared.silver_table("pulse"))]
    assert sorted(rows, key=str) == [(5, None), (7, 1.5)]
    assert columns(silver, declared, "vita") == {"beats"}
    assert "owner" not in columns(silver, declared, "pulse")


def inferred(**more):
    return Feed.model_validate(
        {
            "feed": "tracker",
            "source": {"kafka": {"topic": "tracker"}},
            "payload": {
                "json": {"infer": True, "hints": "model string", **more.pop("payload", {})}
            },
            "route": {"column": "model", "keys": ["pulse", "vita"]},
            **more,
        }
    )


@pytest.mark.parametrize("restarted", [True, False])
def test_a_wider_type_widens_the_tables_of_those_who_copy_it(silver, restarted):
    declared = inferred(selects={"pulse": ["*", "1 as one"], "vita": ["* except (model)"]})
    demux = silver.take(declared, {"model": "pulse", "bpm": 90}, {"model": "vita", "bpm": 1})
    demux = None if restarted else demux
    second, third = Batch("query", 1), Batch("query", 2)
    silver.take(declared, {"model": "vita", "bpm": 1.5}, batch=second, demux=demux)
    silver.take(declared, {"model": "pulse", "bpm": 2.5}, batch=third)
    read = [silver.read_all(declared.silver_table(key)) for key in ("pulse", "vita")]
    assert sorted(row["bpm"] for row in read[0]) == [2.5, 90]
    assert sorted(row["bpm"] for row in read[1]) == [1, 1.5]
    assert columns(silver, declared, "vita") == {"bpm"}


def test_integers_that_a_double_would_round_keep_their_type(silver):
    large = 2**53 + 1
    declared = inferred(selects={"pulse": ["*", "1 as one"], "vita": ["* except (model)"]})
    silver.take(declared, {"model": "pulse", "bpm": large}, {"model": "vita", "bpm": large})
    silver.take(declared, {"model": "pulse", "bpm": 1.5}, batch=Batch("query", 1))
    rows = silver.read_all(declared.silver_table("pulse"))
    assert sorted((row["bpm"] for row in rows), key=str) == [large, None]
    assert [row["bpm"] for row in silver.read_all(declared.silver_table("vita"))] == [large]


def test_a_name_that_one_key_gives_no_value_makes_a_column_of(silver):
    declared = inferred(selects={"pulse": ["model", "bpm + 1 as next"]})
    taken = names_taken(declared)
    assert "next" in taken
    assert [
        c.name
        for c in with_masked_as_text(
            inferred(masks={"pulse": {"mail": "hash"}})
        ).payload.declared_columns
    ] == ["model", "mail"]
    del silver


def test_what_a_key_selects_no_more_stays_in_its_own_table_alone(silver):
    silver.take(feed(selects={"pulse": ["*", "heart_bpm * 2 as twice"]}), beat())
    declared = feed(selects={"pulse": ["* except (heart_bpm)"]})
    silver.take(declared, beat(), beat(model="vita"), batch=Batch("query", 1))
    rows = silver.rows(declared)
    assert {(row["twice"], row["heart_bpm"]) for row in rows} == {(180, 90), (None, None)}
    assert columns(silver, declared, "vita") == {"time", "model", "heart_bpm", "owner"}


TWICE = {"pulse": ["*", "bpm * 2 as twice"]}

HINTS = {"hints": "model string, bpm bigint"}


@pytest.mark.parametrize("on_unknown", ["add_columns", "rescue"])
def test_what_a_key_selects_no_more_comes_to_no_other_table_where_columns_are_inferred(
    silver, on_unknown
):
    more = {"payload": {"on_unknown": on_unknown, **HINTS}}
    silver.take(inferred(selects=TWICE, **more), {"model": "pulse", "bpm": 90, "steps": 1})
    route = {"column": "model", "unknown": "create"}
    declared = inferred(selects={"pulse": ["*", "1 as one"]}, **{**more, "route": route})
    values = [{"model": m, "bpm": 2, "steps": 3} for m in ("vita", "new", "pulse")]
    silver.take(declared, *values, batch=Batch("query", 1))
    assert columns(silver, declared, "pulse") == {"model", "bpm", "steps", "twice", "one"}
    for key in ("vita", "new"):
        assert columns(silver, declared, key) == {"model", "bpm", "steps"}
        assert [row["steps"] for row in silver.rows(declared, key)] == [3]
    found = [(row["steps"], row["twice"]) for row in silver.rows(declared)]
    assert sorted(found, key=str) == [(1, 180), (3, None)]


def test_a_value_may_bring_the_name_of_what_a_key_selects_no_more(silver):
    more = {"payload": HINTS}
    first = [{"model": "pulse", "bpm": 90}, {"model": "vita", "bpm": 1}]
    silver.take(inferred(selects=TWICE, **more), *first)
    declared = inferred(selects={"pulse": ["*", "1 as one"]}, **more)
    for number, (name, value) in enumerate([("TWICE", 5), ("twice", 7), ("twice", "text")], 1):
        given = {"model": "vita", "bpm": 1, name: value}
        silver.take(declared, given, batch=Batch("query", number))
    rows = silver.read_all(declared.silver_table("vita"))
    assert sorted((str(row["twice"]), str(row["_rescued"])) for row in rows) == [
        ("7", "None"),
        ("None", "None"),
        ("None", '{"TWICE":5}'),
        ("None", '{"twice":"text"}'),
    ]
    assert [row["twice"] for row in silver.rows(declared)] == [180]


def test_spark_is_asked_once_of_each_key_whatever_the_order_of_columns_in_tables(
    silver, monkeypatch
):
    selects = {"pulse": ["* except (owner)"], "vita": ["* except (owner, time)"]}
    declared = feed(selects=selects)
    silver.take(declared, beat())
    asked = []

    def counting(*given, **more):
        asked.append([*given[3]])
        return select(*given, **more)

    monkeypatch.setattr(selecting_by_key_format, "select", counting)
    silver.demux(declared).prepare(silver.spark)
    assert asked == [*selects.values()]


def test_a_rebuild_and_a_requeue_make_the_same(silver):
    declared = feed(
        selects={"pulse": [*PULSE, BY_SPARK], "vita": ["heart_bpm"]},
        expectations=[
            {"name": "ok", "sql": "heart_hz < 2", "action": "quarantine", "keys": ["pulse"]}
        ],
    )
    values = [beat(), beat(model="vita"), beat(heart_bpm=150)]
    silver.take(declared, *values)
    before = [silver.rows(declared, key) for key in ("pulse", "vita")]
    silver.redo(declared).rebuild(silver.bronze(*values))
    silver.redo(declared).rebuild(silver.bronze(*values), ["pulse"])
    assert [silver.rows(declared, key) for key in ("pulse", "vita")] == before
    easier = declared.model_copy(update={"expectations": ()})
    silver.redo(easier).requeue()
    assert [row["heart_hz"] for row in silver.rows(declared)] == [1.5, 2.5]
    assert silver.rows(declared, "vita") == before[1]
    assert not silver.read(quarantine_of("tracker"))


def test_tables_are_partitioned_and_deduplicated_by_what_the_key_makes(silver):
    declared = feed(
        selects={"pulse": ["heart_bpm % 2 as odd", "time as at", "owner.mail as mail"]},
        layouts={"pulse": {"partition_by": ["odd", "date(at)"]}},
        deduplicate={"key": ["mail"], "within": "1h"},
    )
    silver.take(declared, beat(), beat(heart_bpm=91), beat(model="vita"), beat(model="vita"))
    (row,) = silver.rows(declared)
    assert (row["odd"], str(row["at_date"])) == (0, "2026-11-25")
    assert len(silver.rows(declared, "vita")) == 2  # which has no mail, so they are none
    path = silver.settings.lake_dir / declared.silver_table("pulse").relative
    assert DeltaTable(path).metadata().partition_columns == ["odd", "at_date"]


def doubled(rows):
    at = rows.schema.get_field_index("heart_bpm")
    return rows.set_column(
        at, rows.schema.field(at), pc.multiply(rows["heart_bpm"], pa.scalar(2, pa.int32()))
    )


def test_a_function_of_python_comes_before_both(silver):
    declared = feed(transform=doubled, selects={"pulse": ["heart_bpm + 1 as next"]})
    silver.decoding = lambda one: with_transform(one, Silver.decoding(silver, one))
    silver.take(declared, beat(), beat(model="vita"))
    assert [without_origin(row) for row in silver.rows(declared)] == [{"next": 181}]
    assert [row["heart_bpm"] for row in silver.rows(declared, "vita")] == [180]


def test_views_and_counts_read_null_where_a_table_has_no_such_column(silver):
    declared = feed(
        selects={"pulse": ["heart_bpm / 60d as hz"]},
        expectations=[{"name": "slow", "sql": "hz is null or hz < 2"}],
    )
    silver.take(declared, beat(), beat(heart_bpm=180), beat(model="vita"))
    view = GoldView(name="top", keys={"who": "model"}, measures={"best": "max(hz)"})
    told = declared.model_copy(update={"gold": (view,)})
    refresh(silver.spark, told, view, ["pulse", "vita"], silver.context)
    best = {key: silver.read_all(told.gold_table(view, key)) for key in ("pulse", "vita")}
    assert [(row["who"], row["best"]) for row in best["pulse"]] == [(None, 3.0)]
    assert [(row["who"], row["best"]) for row in best["vita"]] == [("vita", None)]
    tables = [
        DeltaTable(silver.settings.lake_dir / declared.silver_table(key).relative)
        for key in ("pulse", "vita")
    ]
    columns = columns_of_keys(silver.context.lake, declared, tables)
    counted = count(silver.spark, declared, tables, columns)
    assert counted["pulse", "slow"] == Judged(seen=2, violated=1)
    assert counted["vita", "slow"] == Judged(seen=1, violated=0)


@pytest.mark.parametrize(
    ("selects", "fact"),
    [
        ({"pulse": ["hart_bpm"]}, "key pulse.* does not compile .*decoded columns are time, model"),
        ({"pulse": ["count(*) as rows"]}, "one of several"),
        ({"pulse": ["now() as at"]}, "asks the clock"),
        ({"pulse": ["model", "1 as _offset"]}, "silver's own"),
        (
            {"pulse": ["cast(heart_bpm as bigint) as heart_bpm"]},
            "makes heart_bpm int for other keys, and heart_bpm bigint for pulse.*Cast one",
        ),
        ({"pulse": ["1 as n"], "vita": ["'a' as n"]}, "n int for pulse, and n string for vita"),
        ({"pulse": ["1 as N"], "vita": ["2 as n"]}, "makes N int for pulse, and n int for vita"),
    ],
)
def test_what_cannot_be_is_refused_at_start(silver, selects, fact):
    declared = feed(selects=selects)
    with pytest.raises(FeedError, match=fact):
        silver.demux(declared).prepare(silver.spark)


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"mask": {"nobody": "hash"}}, "names nobody, which no key's table has"),
        ({"masks": {"pulse": {"heart_bpm": "hash"}}}, "key pulse: names heart_bpm, which is no"),
        ({"masks": {"vita": {"heart_bpm": "hash"}}}, "key vita: names heart_bpm, which is int"),
        ({"mask": {"model": "hash"}}, "hides model, which the route reads"),
    ],
)
def test_masks_that_cannot_be_are_refused_at_start(silver, more, fact):
    declared = feed(selects={"pulse": ["model", "time"]}, **more)
    with pytest.raises(FeedError, match=fact):
        silver.demux(declared).prepare(silver.spark)


def test_a_hash_by_key_needs_the_masking_key(silver):
    declared = feed(["*", "owner.mail as mail"], masks={"pulse": {"mail": "hash"}})
    with pytest.raises(FeedError, match="there is no key"):
        silver.demux(declared, b"")
    silver.take(declared, beat(), beat(model="vita"))
    (pulse,), (vita,) = silver.rows(declared), silver.rows(declared, "vita")
    assert len(pulse["mail"]) == 64
    assert vita["mail"] == "ann@example.com"
    with pytest.raises(LakeError, match="hashes of another masking key"):
        silver.demux(declared, b"another key of sixteen").prepare(silver.spark)


def test_what_is_selected_is_told_by_key(silver):
    told = {}

    def note(outputs, by_key):
        told.update(all={o.name: (o.reads, o.source) for o in outputs}, by_key=by_key)

    declared = feed(
        ["* except (owner)", "owner.mail as mail"],
        selects={"pulse": ["upper(mail) as who", "heart_bpm as beats", BY_SPARK]},
    )
    silver.demux(declared, KEY, note=note).prepare(silver.spark)
    assert told["all"]["who"] == (("owner",), None)
    assert told["all"]["beats"] == (("heart_bpm",), "heart_bpm")
    pulse = {one.name: one for one in told["by_key"]["pulse"]}
    assert pulse.keys() == {"who", "beats", "weekday"}
    assert "date_format" in pulse["weekday"].spark_part
    others = {one.name for one in told["by_key"][""]}
    assert others == {"time", "model", "heart_bpm", "mail", "_rescued"}
