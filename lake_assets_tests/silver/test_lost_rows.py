import pytest

from lake_assets.silver.lost_rows import clear_lost, lost_rows, note_lost
from lake_assets.storage.local import LocalStore


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path)


def test_a_feed_is_told_until_all_of_it_was_derived_again(lake):
    note_lost(lake, ["games", "twin"], "its rows are gone")
    clear_lost(lake, "twin")
    assert (lost_rows(lake, "games"), lost_rows(lake, "twin")) == ("its rows are gone", "")
    clear_lost(lake, "twin")


def test_a_note_that_was_torn_holds_all_the_same(lake):
    note_lost(lake, ["games"], "")
    assert lost_rows(lake, "games") == "rows of it were lost"
