"""Rows that are erased, by their values and by where they were: in no table but their own."""

from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch
from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasures, Later, bytes_text, digest_of, number_text
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.tables import erased_of, quarantine_of
from lake_assets.model.transforms import Mask
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.value_texts import texts_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.erasures import note
from lake_assets_tests.silver.selecting import KEY, Silver, beat, feed

COLUMNS = (
    "time timestamp, model string, heart_bpm int, owner struct<mail: string, level: bigint>, "
    "person string, friends array<struct<name: string, at: int>>"
)

ERASED = erased_of("tracker")
QUARANTINE = quarantine_of("tracker")


def test_values_are_text_as_people_write_them():
    cases = [
        (pa.array([7, None], pa.int64()), [number_text(7), None]),
        (pa.array([b"\x01\xff"]), [bytes_text(b"\x01\xff")]),
        (pa.array(["ann"]).dictionary_encode(), ["ann"]),
        (pa.array(["ann"], pa.large_string()), ["ann"]),
    ]
    assert [texts_of(values).to_pylist() for values, _ in cases] == [texts for _, texts in cases]
    assert texts_of(pa.array([["ann"]])) is None


pytestmark = pytest.mark.spark


@pytest.fixture
def silver(spark, settings):
    with ExitStack() as stack:
        yield Silver(spark, stack.enter_context(open_lake(settings)), settings)


def declared(select=(), **more):
    return feed(select, schema=COLUMNS, **more)


def erase(silver, column, *values, **more):
    return note(silver.context, column, *values, feed="tracker", **more)


def offsets(rows):
    return [row.get("_offset", row.get("offset")) for row in rows]


def one(person, **more):
    return beat(person=person, friends=[], **more)


def test_a_lake_without_erasures_judges_nothing_and_has_no_such_table(silver, spark):
    tracker = declared()
    demux = silver.take(tracker, one("ann"))
    job = demux.next_job(spark)
    assert job.plan.erasing is None
    assert len(job.output().plan.targets) == 4
    assert not (silver.settings.lake_dir / ERASED.relative).exists()


@pytest.mark.parametrize(
    ("column", "value"),
    [("person", "ann"), ("PERSON", "ann"), ("heart_bpm", "40")],
)
def test_a_row_with_the_value_is_in_no_table_but_that_of_erased_ones(silver, column, value):
    erasure, tracker = erase(silver, column, value), declared()
    silver.take(tracker, one("bob"), one("ann", heart_bpm=40), one(None), b"no json")
    assert offsets(silver.rows(tracker)) == [0, 2]
    assert offsets(silver.read(QUARANTINE)) == [3]
    (row,) = silver.read_all(ERASED)
    assert row.pop("kafka_timestamp")
    assert row.pop("erased_at")
    assert row == {"topic": "t", "partition": 0, "offset": 1, "erasure": erasure}
    (report,) = silver.reports
    assert report.rows[ERASED.name] == 1
    assert sum(report.rows.values()) == 4


def test_a_column_that_no_row_has_erases_nothing(silver):
    erase(silver, "gamer_id", "ann")
    tracker = declared()
    silver.take(tracker, one("ann"))
    assert offsets(silver.rows(tracker)) == [0]
    assert silver.read_all(ERASED) == []


def test_rows_from_the_cut_on_are_kept_if_the_request_says_so(silver):
    tracker = declared()
    erase(silver, "person", "ann", later=Later.KEEP, cuts={("t", 0): 2})
    erase(silver, "person", "bob", later=Later.DROP, cuts={("t", 0): 2})
    silver.take(tracker, *[one("ann"), one("bob")] * 2)
    assert offsets(silver.rows(tracker)) == [2]
    assert offsets(silver.read(ERASED)) == [0, 1, 3]


def test_an_erasure_is_obeyed_from_the_next_batch_on(silver):
    tracker = declared()
    demux = silver.take(tracker, one("ann"))
    assert offsets(silver.rows(tracker)) == [0]
    erase(silver, "person", "ann")
    silver.take(tracker, one("ann"), one("bob"), batch=Batch("query", 1), demux=demux)
    assert offsets(silver.rows(tracker)) == [0, 1]
    assert offsets(silver.read(ERASED)) == [0]


def test_where_a_row_was_erases_what_nobody_can_decode(silver):
    tracker = declared()
    silver.context.erasures.record("tracker", "one", {("t", 0): [(1, 3)]})
    silver.take(tracker, one("ann"), b"no json", one("bob"), b"none")
    assert offsets(silver.rows(tracker)) == [0]
    assert offsets(silver.read(QUARANTINE)) == [3]
    assert [(row["offset"], row["erasure"]) for row in silver.read(ERASED)] == [
        (1, None),
        (2, None),
    ]


@pytest.mark.parametrize("sql", ["heart_bpm > 50", "crc32(cast(person as binary)) is null"])
def test_expectations_do_not_judge_erased_rows(silver, sql):
    erase(silver, "person", "ann")
    rule = Expectation(name="rule", sql=sql, action=Action.FAIL)
    tracker = declared(expectations=[rule.model_dump()])
    rows = [one("ann", heart_bpm=1), one("bob")] if "bpm" in sql else [one("ann")]
    silver.take(tracker, *rows)
    assert offsets(silver.read(ERASED)) == [0]
    (report,) = silver.reports
    assert not any(judged.violated for judged in report.judged.values())


def test_a_hidden_column_is_judged_by_what_it_hides_and_by_what_shows(silver):
    tracker = declared(mask={"person": "hash"})
    shown = Masks(by_column={"person": Mask.HASH}, key=KEY).hidden("person", pa.array(["bob"]))
    erase(silver, "person", "ann", shown.to_pylist()[0])
    silver.take(tracker, one("ann"), one("bob"), one("cy"))
    assert offsets(silver.rows(tracker)) == [2]


def test_what_is_cut_is_judged_by_the_whole(silver):
    erase(silver, "person", "ann@example.com")
    tracker = declared(mask={"person": "last4"})
    silver.take(tracker, one("ann@example.com"), one("bob@example.com"))
    assert offsets(silver.rows(tracker)) == [1]


BY_SPARK = "date_format(time, 'E') as weekday"


@pytest.mark.parametrize("more", [(), (BY_SPARK,)])
@pytest.mark.parametrize("column", ["mail", "person"])
def test_what_a_key_renames_or_leaves_out_is_judged_too(silver, column, more):
    tracker = declared(selects={"pulse": ["model", "owner.mail as mail", *more]})
    erase(silver, column, "ann@example.com" if column == "mail" else "ann")
    ann = one("ann")
    bob = {**one("bob"), "owner": {"mail": "bob@example.com", "level": 1}}
    silver.take(tracker, ann, bob, {**bob, "model": "vita"})
    assert offsets(silver.rows(tracker)) == [1]
    assert offsets(silver.rows(tracker, "vita")) == [2]
    assert offsets(silver.read(ERASED)) == [0]


@pytest.mark.parametrize("more", [(), (BY_SPARK,)])
def test_a_row_of_several_tables_is_erased_from_all_of_them(silver, more):
    routes = [{"column": name, "keys": ["pulse", "vita"]} for name in ("model", "person")]
    tracker = declared(
        route=None, routes=routes, selects={"vita": ["heart_bpm as beats", "person", *more]}
    )
    erasure = erase(silver, "beats", "40")
    silver.take(tracker, one("vita", heart_bpm=40), one("vita", heart_bpm=50))
    assert offsets(silver.rows(tracker)) == offsets(silver.rows(tracker, "vita")) == [1]
    assert [(row["offset"], row["erasure"]) for row in silver.read(ERASED)] == [(0, erasure)]


def friends(*names, at=1):
    return beat(person="p", friends=[{"name": name, "at": at} for name in names])


EXPLODES = ["model", "inline(friends)"]


@pytest.mark.parametrize("more", [(), (BY_SPARK,)])
def test_a_field_that_select_renames_or_leaves_out_is_judged_too(silver, more):
    tracker = declared(["model", "person as who", "heart_bpm", *more], mask={"who": "redact"})
    erasures = [erase(silver, "person", "ann"), erase(silver, "friends", "x")]
    silver.context.erasures.record("tracker", erasures[1], {("t", 0): [(0, 1), (2, 3)]})
    silver.take(tracker, one("ann"), one("bob"), one("cy"))
    assert offsets(silver.rows(tracker)) == [1]
    assert [(row["offset"], row["erasure"]) for row in silver.read(ERASED)] == [
        (0, erasures[0]),
        (2, None),
    ]


def test_a_field_of_a_value_that_becomes_several_rows_erases_all_of_them(silver):
    tracker, erasure = declared(EXPLODES), erase(silver, "person", "ann")
    mine = beat(person="ann", friends=[{"name": name, "at": 1} for name in ("bob", "cy")])
    silver.take(tracker, mine, friends("bob", "cy"))
    assert offsets(silver.rows(tracker)) == [1, 1]
    assert [(row["offset"], row["erasure"]) for row in silver.read(ERASED)] == [(0, erasure)]


@pytest.mark.parametrize("mask", [{}, {"person": "redact"}])
def test_what_did_not_fit_its_column_is_judged_too(silver, mask):
    tracker = declared(mask=mask)
    erase(silver, "person", "ann")
    erase(silver, "heart_bpm", "40")
    silver.take(
        tracker,
        one({"names": ["ann"]}),
        one("bob", heart_bpm="40"),
        beat(person="bob", heart_bpm="41", friends=["ann"]),
        one(["bob"]),
        one("ann", heart_bpm="41"),
    )
    assert offsets(silver.rows(tracker)) == [2, 3]
    assert offsets(silver.read(ERASED)) == [0, 1, 4]


def test_neighbours_in_a_value_stay_and_its_place_is_told_once(silver):
    tracker, erasure = declared(EXPLODES), erase(silver, "name", "ann")
    silver.context.erasures.record("tracker", "one", {("t", 0): [(0, 2)]})
    silver.take(tracker, friends("ann", "bob", "ann"), friends("cy"), friends("ann"))
    found = [(row["_offset"], row["name"]) for row in silver.rows(tracker)]
    assert found == [(0, "bob"), (1, "cy")]
    assert [(row["offset"], row["erasure"]) for row in silver.read(ERASED)] == [
        (0, erasure),
        (2, erasure),
    ]


def test_a_value_with_an_erased_element_goes_to_quarantine_no_more(silver):
    rule = Expectation(name="has_b", sql="name <> 'bad'", action=Action.QUARANTINE)
    tracker = declared(EXPLODES, expectations=[rule.model_dump()])
    erase(silver, "name", "ann")
    silver.take(tracker, friends("bad", "ann", "bob"), friends("bad", "bob"))
    assert [(row["_offset"], row["name"]) for row in silver.rows(tracker)] == [(0, "bob")]
    assert offsets(silver.read(QUARANTINE)) == [1]
    assert offsets(silver.read(ERASED)) == [0]


@pytest.mark.parametrize("damage", ["ledger", "key", "spans"])
def test_a_ledger_that_cannot_be_read_lets_no_row_in(silver, damage):
    tracker = declared()
    demux = silver.take(tracker, one("ann"))
    ledger = silver.context.erasures
    erase(silver, "person", "bob")
    ledger.record("tracker", "one", {("t", 0): [(0, 1)]})
    folder = silver.settings.lake_dir / "_erasures"
    if damage == "key":
        (folder / "key").unlink()
    else:
        name = "ledger.json" if damage == "ledger" else "rows/tracker/one.json"
        (folder / name).write_text("{")
    with pytest.raises(LakeError, match="rows are erased"):
        silver.take(tracker, one("cy"), batch=Batch("query", 1), demux=demux)
    assert offsets(silver.rows(tracker)) == [0]


def test_a_requeue_takes_erased_rows_from_quarantine(silver):
    tracker = declared()
    rule = Expectation(name="slow", sql="heart_bpm < 50", action=Action.QUARANTINE)
    strict = tracker.model_copy(update={"expectations": (rule,)})
    silver.take(strict, one("ann"), one("bob"), b"no json")
    assert offsets(silver.read(QUARANTINE)) == [0, 1, 2]
    erase(silver, "person", "ann")
    silver.redo(tracker).requeue()
    assert offsets(silver.rows(tracker)) == [1]
    assert offsets(silver.read(QUARANTINE)) == [2]
    assert offsets(silver.read(ERASED)) == [0]


def test_a_rebuild_erases_again_and_forgets_no_erased_row(silver):
    tracker = declared()
    values = [one("ann"), one("bob"), one("ann", model="vita")]
    silver.take(tracker, *values)
    erasure = erase(silver, "person", "ann")
    for _ in range(2):
        silver.redo(tracker).rebuild(silver.bronze(*values))
        silver.redo(tracker).rebuild(silver.bronze(*values), ["pulse"])
        assert offsets(silver.rows(tracker)) == [1]
        assert silver.rows(tracker, "vita") == []
        assert offsets(silver.read(ERASED)) == [0, 2]
    bronze = silver.bronze(*values)  # which has the erased rows no more
    silver.redo(tracker).rebuild(replace(bronze, rows=bronze.rows.where("offset = 1")))
    assert [(row["offset"], row["erasure"]) for row in silver.read(ERASED)] == [
        (0, erasure),
        (2, erasure),
    ]


def test_another_key_is_refused(silver):
    erase(silver, "person", "ann")
    ledger = replace(silver.context.erasures, key=b"another key of sixteen")
    with pytest.raises(LakeError, match="hashes of another key"):
        ledger.read()
    assert digest_of(b"k", "Person", "ann") == digest_of(b"k", "person", "ann")
    assert not Erasures()
