from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake import Field as DeltaField

from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import last_info
from lake_assets.delta.old_rows import OldRows
from lake_assets.delta.refresh_position import COLUMNS
from lake_assets.delta.widen import widen
from lake_assets.errors import CommitConflictError, ExpectationFailedError
from lake_assets.gold.refresh import refresh
from lake_assets.gold.refresh_plan import open_all
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Judged, Mode
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import SCHEMA, add_silver, append_silver
from lake_assets_tests.sample import GAMES, gold_of, silver_of

VIEW = GoldView(
    name="player_agg",
    keys=("gamer_id",),
    measures={"n": "count(*)", "mean_offset": "avg(_offset)"},
)
MANY = [f"gamer_{number}" for number in range(40)]


@pytest.fixture
def context(context):
    return replace(context, bucket_rows=10)


@pytest.fixture
def bring(spark, context):
    def run(view=VIEW, **more):
        (found,) = refresh(spark, GAMES, view, ["uno"], context, **more).refreshed
        return found

    return run


def gold(lake):
    return DeltaTable(lake / gold_of("uno", VIEW.name).relative)


def counts(lake):
    rows = gold(lake).to_pyarrow_table().to_pylist()
    return {row["gamer_id"]: row["n"] for row in rows}


def test_a_game_without_silver_is_not_opened(context, lake):
    add_silver(lake, "uno", "ann")
    (found,) = open_all(GAMES, VIEW, ["uno", "go_fish"], context)
    assert (found.source.key, found.source.position, found.gold) == ("uno", None, None)
    assert found.source.is_behind


@pytest.mark.spark
def test_a_table_gets_more_buckets_as_it_grows_and_only_touched_ones_are_written(bring, lake):
    add_silver(lake, "uno", *MANY)
    assert (bring().files, len(gold(lake).file_uris())) == (1, 1)
    add_silver(lake, "uno", "gamer_3")
    grown = bring()
    assert (grown.mode, grown.files, grown.rows_written) == (Mode.INCREMENTAL, 4, 40)
    before = set(gold(lake).file_uris())
    add_silver(lake, "uno", "gamer_3", "gamer_3", "new one")
    found = bring()
    kept = before & set(gold(lake).file_uris())
    assert (found.rows_read, found.rows, found.files) == (3, 41, 4)
    assert 2 <= len(kept) <= 3
    assert found.rows_written < 41
    assert counts(lake) == {**dict.fromkeys(MANY, 1), "gamer_3": 4, "new one": 1}


@pytest.mark.spark
def test_silver_that_was_only_rearranged_changes_no_row_and_is_caught_up_with(bring, lake):
    add_silver(lake, "uno", "ann")
    add_silver(lake, "uno", "bob")
    bring()
    before = gold(lake).file_uris()
    DeltaTable(lake / silver_of("uno").relative).optimize.compact()
    found = bring()
    assert (found.mode, found.rows_read, found.rows_written) == (Mode.INCREMENTAL, 0, 0)
    assert (found.why, found.rows) == ("silver gained nothing, only its files changed", 2)
    assert gold(lake).file_uris() == before
    add_silver(lake, "uno", "ann")
    assert bring().rows_read == 1
    assert counts(lake) == {"ann": 2, "bob": 1}


@pytest.mark.spark
def test_rows_that_left_for_their_age_stay_counted(bring, context, lake):
    add_silver(lake, "uno", "ann", "bob", "ann", start=10)
    bring()
    add_silver(lake, "uno", "ann", start=100)
    files = active_files(context.committer.fresh(silver_of("uno")))
    whole, partly = [f for f in files if f.rows == 1], [f for f in files if f.rows > 1]
    before = datetime.fromtimestamp(12, UTC)
    old = OldRows(table=silver_of("uno"), columns=["event_timestamp"], before=before)
    assert old.delete(context.committer, [], partly).rows == 2
    found = bring()
    assert (found.mode, found.rows_read) == (Mode.INCREMENTAL, 1)
    assert counts(lake) == {"ann": 3, "bob": 1}
    # Its log tells of both ways in which rows leave.
    assert old.delete(context.committer, whole, []).rows == 1
    add_silver(lake, "uno", "bob", start=200)
    assert bring().mode is Mode.INCREMENTAL
    assert counts(lake) == {"ann": 3, "bob": 2}
    assert bring(full_refresh=True).rows_read == 2
    assert counts(lake) == {"ann": 1, "bob": 1}


@pytest.mark.spark
def test_a_wider_column_that_a_view_does_not_read_leaves_it_what_it_counted(bring, context, lake):
    silver = silver_of("uno")
    append_silver(lake, "uno", with_battery([100, 200], pa.int32()))
    bring()
    files = active_files(context.committer.fresh(silver))
    before = datetime.fromtimestamp(150, UTC)
    OldRows(table=silver, columns=["event_timestamp"], before=before).delete(
        context.committer, [], files
    )
    append_silver(lake, "uno", with_battery([300], pa.int32()))  # is rewritten unread
    widen(context.committer, {silver: with_battery([], pa.float64()).schema})
    append_silver(lake, "uno", with_battery([400], pa.float64()))
    found = bring()
    assert (found.mode, found.rows_read) == (Mode.INCREMENTAL, 2)
    assert counts(lake) == {"ann": 4}
    reader = VIEW.model_copy(update={"measures": {"n": "count(*) filter (where _offset >= 0)"}})
    assert bring(reader).mode is Mode.FULL
    widen(context.committer, {silver: pa.schema([("_offset", pa.decimal128(20, 0))])})
    assert "left silver or changed" in bring(reader).why
    assert counts(lake) == {"ann": 3}


def with_battery(times, kind):
    rows = [
        {"game_name": "uno", "gamer_id": "ann", "_offset": at, "battery": 50}
        | {"event_timestamp": datetime.fromtimestamp(at, UTC)}
        for at in times
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA.append(pa.field("battery", kind)))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda silver: DeltaTable(silver).delete("gamer_id = 'ann'"), "rows left silver"),
        (lambda silver: (silver / f"_delta_log/{1:020}.json").unlink(), "no version 1 any more"),
    ],
)
def test_what_the_log_cannot_tell_is_recomputed_and_says_why(bring, lake, change, reason):
    add_silver(lake, "uno", "ann", "bob")
    bring()
    add_silver(lake, "uno", "cid")
    silver = lake / silver_of("uno").relative
    DeltaTable(silver).create_checkpoint()
    change(silver)
    found = bring()
    assert (found.mode, found.rows) == (Mode.FULL, len(counts(lake)))
    assert reason in found.why


@pytest.mark.spark
def test_a_measure_that_does_not_merge_is_the_reason_after_the_first_refresh(bring, lake):
    view = VIEW.model_copy(update={"measures": {"n": "count(*)", "d": "exact median(_offset)"}})
    add_silver(lake, "uno", "ann")
    assert bring(view).why == "the key's first refresh"
    add_silver(lake, "uno", "ann", start=1)
    found = bring(view)
    assert (found.mode, found.why, found.rows_read) == (Mode.FULL, "d is exact", 2)
    assert gold(lake).to_pyarrow_table().to_pylist() == [{"gamer_id": "ann", "n": 2, "d": 0.5}]


@pytest.mark.spark
def test_a_column_of_tomorrow_is_null_in_what_was_merged_before(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    silver = lake / silver_of("uno").relative
    DeltaTable(silver).alter.add_columns([DeltaField("extra", "string")])
    wider = SCHEMA.append(pa.field("extra", pa.string()))
    row = {"game_name": "uno", "gamer_id": "ann", "extra": "x", "_offset": 4}
    write_deltalake(silver, pa.Table.from_pylist([row], schema=wider), mode="append")
    assert bring().mode is Mode.INCREMENTAL
    assert counts(lake) == {"ann": 2}


@pytest.mark.spark
def test_asked_for_anew_it_is_computed_from_all_rows(bring, lake):
    add_silver(lake, "uno", "ann", "ann")
    bring()
    found = bring(full_refresh=True)
    assert (found.mode, found.why, found.rows_read) == (Mode.FULL, "asked for", 2)
    assert counts(lake) == {"ann": 2}


@pytest.mark.spark
def test_gold_that_somebody_else_wrote_is_recomputed(bring, lake):
    add_silver(lake, "uno", "ann", "bob")
    bring()
    gold(lake).delete("gamer_id = 'bob'")
    found = bring()
    assert (found.mode, found.why) == (
        Mode.FULL,
        "gold's newest commit is no refresh of this view",
    )
    assert counts(lake) == {"ann": 1, "bob": 1}


class OvertakenDoor(Committer):
    """Lets somebody else act before it exchanges files."""

    def __init__(self, lake, overtake):
        super().__init__(LocalStore.at(lake), threads=2)
        self._overtake = overtake

    def replace_files(self, commits):
        self._overtake()
        super().replace_files(commits)


@pytest.mark.spark
def test_of_two_refreshes_from_one_position_the_second_is_refused(spark, bring, context, lake):
    add_silver(lake, "uno", "ann")
    bring()
    add_silver(lake, "uno", "ann")
    late = replace(context, committer=OvertakenDoor(lake, bring))
    with pytest.raises(CommitConflictError):
        refresh(spark, GAMES, VIEW, ["uno"], late)
    late.committer.close()
    assert counts(lake) == {"ann": 2}


@pytest.mark.spark
def test_an_expectation_judges_all_rows_of_a_view_however_few_are_new(spark, context, lake):
    few = Expectation(name="few", sql="n < 3")
    view = VIEW.model_copy(update={"expectations": (few,)})
    add_silver(lake, "uno", *MANY, "ann", "ann", "ann")
    refresh(spark, GAMES, view, ["uno"], context)
    for seen in (42, 43):
        add_silver(lake, "uno", f"another_{seen}")
        report = refresh(spark, GAMES, view, ["uno"], context)
        assert report.refreshed[0].mode is Mode.INCREMENTAL
        assert report.judged == {("uno", "few"): Judged(seen=seen, violated=1)}
    add_silver(lake, "uno", "gamer_1", "gamer_1")
    failing = view.model_copy(
        update={"expectations": (few.model_copy(update={"action": Action.FAIL}),)}
    )
    with pytest.raises(ExpectationFailedError, match="2 of 43"):
        refresh(spark, GAMES, failing, ["uno"], context)


@pytest.mark.spark
def test_a_row_that_was_dropped_comes_back_once_it_is_good(bring, lake):
    many = Expectation(name="many", sql="n > 1", action=Action.DROP)
    view = VIEW.model_copy(update={"expectations": (many,)})
    add_silver(lake, "uno", "ann", "bob", "bob")
    bring(view)
    assert counts(lake) == {"bob": 2}
    add_silver(lake, "uno", "ann")
    found = bring(view)
    assert found.why == "many drops rows, and with them what later rows would be merged with"
    assert counts(lake) == {"ann": 2, "bob": 2}


@pytest.mark.spark
def test_a_column_whose_type_changed_makes_gold_anew(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    folder = lake / gold_of("uno", VIEW.name).relative
    told = last_info(gold(lake)).items()
    info = {k: v for k, v in told if k.startswith("lake_assets.") and k != COLUMNS}
    table = gold(lake).to_pyarrow_table()
    narrow = table.set_column(1, "n", table["n"].cast(pa.int32()))
    properties = CommitProperties(custom_metadata=info)
    write_deltalake(
        folder, narrow, mode="overwrite", schema_mode="overwrite", commit_properties=properties
    )
    add_silver(lake, "uno", "ann")
    assert bring().why == "a column has another type"
    assert counts(lake) == {"ann": 2}
