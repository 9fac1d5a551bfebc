import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.errors import CommitConflictError
from lake_assets.gold.arrow_merge import merge_in_arrow
from lake_assets.gold.refresh import refresh
from lake_assets.gold.view_heads import small_gain_of, view_heads_of
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Mode
from lake_assets_tests.gold.silver import SCHEMA, add_silver, append_silver
from lake_assets_tests.sample import GAMES, gold_of

pytestmark = pytest.mark.spark

VIEW = GoldView(
    name="player_agg",
    keys=("gamer_id",),
    measures={"n": "count(*)", "total": "sum(_offset)", "last": "max(event_timestamp)"},
)
GAME_NAMES = ("uno", "go_fish", "hearts")


@pytest.fixture
def without_spark(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("lake_assets.gold.refresh.compute", refuse)


@pytest.fixture
def bring(spark, context):
    def run():
        return refresh(spark, GAMES, VIEW, GAME_NAMES, context).refreshed

    return run


def gold(lake, key):
    handle = DeltaTable(lake / gold_of(key, VIEW.name).relative)
    rows = handle.to_pyarrow_table().to_pylist()
    return {row["gamer_id"]: (row["n"], row["total"]) for row in rows}


def offsets(lake, key, *values):
    rows = [{"game_name": key, "gamer_id": "ann", "_offset": value} for value in values]
    append_silver(lake, key, pa.Table.from_pylist(rows, schema=SCHEMA))


def test_games_are_merged_by_tasks_each_into_its_own_table(bring, lake, request):
    for number, key in enumerate(GAME_NAMES):
        add_silver(lake, key, "ann", "bob", start=number)
    bring()
    request.getfixturevalue("without_spark")
    add_silver(lake, "uno", "ann", "cid", start=10)
    add_silver(lake, "uno", None, start=20)
    add_silver(lake, "hearts", "bob", start=30)
    found = bring()
    assert [(one.key, one.mode, one.rows_read, one.rows, one.files) for one in found] == [
        ("uno", Mode.INCREMENTAL, 3, 4, 1),
        ("hearts", Mode.INCREMENTAL, 1, 2, 1),
    ]
    assert gold(lake, "uno") == {"ann": (2, 10), "bob": (1, 1), "cid": (1, 11), None: (1, 20)}
    assert gold(lake, "go_fish") == {"ann": (1, 1), "bob": (1, 2)}
    assert gold(lake, "hearts") == {"ann": (1, 2), "bob": (2, 33)}
    assert bring() == ()


def test_many_refreshes_leave_a_table_that_opens(bring, lake, request):
    add_silver(lake, "uno", "ann")
    bring()
    request.getfixturevalue("without_spark")
    for number in range(25):
        add_silver(lake, "uno", "ann", start=number)
        bring()
    handle = DeltaTable(lake / gold_of("uno", VIEW.name).relative)
    assert (len(handle.file_uris()), gold(lake, "uno")) == (1, {"ann": (26, sum(range(25)))})


def test_a_gain_of_no_rows_moves_the_position_and_writes_nothing(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    before = DeltaTable(lake / gold_of("uno", VIEW.name).relative)
    append_silver(lake, "uno", SCHEMA.empty_table())
    (found,) = bring()
    assert (found.rows_read, found.rows) == (0, 1)
    assert gold(lake, "uno") == {"ann": (1, 0)}
    assert DeltaTable(before.table_uri).version() == before.version() + 1
    assert bring() == ()
    add_silver(lake, "uno", "ann", start=5)
    assert bring()[0].mode is Mode.INCREMENTAL
    assert gold(lake, "uno") == {"ann": (2, 5)}


def test_a_sum_that_may_not_fit_is_asked_of_spark_and_the_others_are_merged(bring, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    bring()
    offsets(lake, "uno", 2**62, 2**62 - 1)
    add_silver(lake, "hearts", "ann", start=7)
    assert {one.key: one.mode for one in bring()} == dict.fromkeys(
        ("uno", "hearts"), Mode.INCREMENTAL
    )
    assert gold(lake, "uno") == {"ann": (3, 2**63 - 1)}
    assert gold(lake, "hearts") == {"ann": (2, 7)}


def test_a_view_that_changed_meanwhile_is_not_written_over(spark, bring, context, lake):
    add_silver(lake, "uno", "ann")
    bring()
    add_silver(lake, "uno", "ann", start=5)
    gains = small_gain_of(VIEW, view_heads_of(GAMES, VIEW, ["uno"], context).values(), context)
    (late,) = merge_in_arrow(spark, gains, context)
    bring()
    with pytest.raises(CommitConflictError, match="no longer at version 1"):
        context.committer.replace_files([late.commit])
    assert gold(lake, "uno") == {"ann": (2, 5)}
