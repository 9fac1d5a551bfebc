import pytest
from deltalake import DeltaTable

from lake_assets.bench.history import history_of
from lake_assets.lake.history import newest_of
from lake_assets.lake.means import lake_means
from lake_assets.model.tables import silver_of
from lake_assets_tests.gold.silver import add_silver


@pytest.fixture
def means(settings):
    with lake_means(settings) as found:
        add_silver(found.lake, "uno", *(f"gamer {n}" for n in range(10)))
        add_silver(found.lake, "poker", *(f"gamer {n}" for n in range(20)))
        yield found


def rows(means, game):
    return DeltaTable(silver_of(game).path(means.lake)).to_pyarrow_table().num_rows


def test_a_history_is_the_same_rows_many_times(means):
    history = history_of(means, ("uno", "poker"))
    assert (history.rows, history.add(3)) == (30, 90)
    assert (rows(means, "uno"), rows(means, "poker")) == (40, 80)


def test_linked_files_keep_their_statistics(means):
    handle = DeltaTable(silver_of("uno").path(means.lake))
    before = newest_of(handle, "event_timestamp")
    history_of(means, ("uno",)).add(2)
    handle.update_incremental()
    assert newest_of(handle, "event_timestamp") == before
    assert before[1]


def test_a_part_is_cut_from_each_game_and_one_row_at_least(means):
    history = history_of(means, ("uno", "poker"))
    assert history.add(0.1) == 1 + 2
    assert history.add(0.001) == 1 + 1
    assert history.add(1.1) == 30 + 3


def test_a_game_without_silver_has_no_history(means):
    assert history_of(means, ("uno", "chess")).rows == 10
