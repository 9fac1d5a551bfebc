import pytest
from deltalake import DeltaTable

from benchmarks.history import history_of
from lake_assets.delta.log_history import newest_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES, silver_of


@pytest.fixture
def context(settings):
    with open_lake(settings) as found:
        add_silver(found.lake.root.as_path(), "uno", *(f"gamer {n}" for n in range(10)))
        add_silver(found.lake.root.as_path(), "poker", *(f"gamer {n}" for n in range(20)))
        yield found


def rows(context, game):
    return (
        DeltaTable(context.lake.root.as_path() / silver_of(game).relative)
        .to_pyarrow_table()
        .num_rows
    )


def test_a_history_is_the_same_rows_many_times(context):
    history = history_of(context, GAMES, ("uno", "poker"))
    assert (history.rows, history.add(3)) == (30, 90)
    assert (rows(context, "uno"), rows(context, "poker")) == (40, 80)


def test_linked_files_keep_their_statistics(context):
    handle = DeltaTable(context.lake.root.as_path() / silver_of("uno").relative)
    before = newest_of(handle, "event_timestamp")
    history_of(context, GAMES, ("uno",)).add(2)
    handle.update_incremental()
    assert newest_of(handle, "event_timestamp") == before
    assert before[1]


def test_a_part_is_cut_from_each_game_and_one_row_at_least(context):
    history = history_of(context, GAMES, ("uno", "poker"))
    assert history.add(0.1) == 1 + 2
    assert history.add(0.001) == 1 + 1
    assert history.add(1.1) == 30 + 3


def test_a_game_without_silver_has_no_history(context):
    assert history_of(context, GAMES, ("uno", "chess")).rows == 10
