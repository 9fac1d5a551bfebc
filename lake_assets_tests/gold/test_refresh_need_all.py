from dataclasses import replace

from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.gold.refresh_need import Silver
from lake_assets.gold.refresh_need_all import held_up_by, is_all_behind, position_now, unread

VIEW, ANEW = "a definition", "another one"


def silver(**versions):
    return {
        key: Silver(version=version, table=key, commit=f"{key} {version}")
        for key, version in versions.items()
    }


NOW = silver(uno=3, go=1)
RESTORED = {**NOW, "uno": replace(NOW["uno"], commit="another 3")}


def test_a_position_is_read_back_from_its_commit():
    position = position_now(VIEW, NOW)
    assert PositionOfAll.of(position.info) == position
    assert PositionOfAll.of({}) is None


def test_a_view_is_behind_until_it_stands_for_all_silver():
    assert is_all_behind(VIEW, NOW, None)
    assert not is_all_behind(VIEW, NOW, position_now(VIEW, NOW))
    assert is_all_behind(VIEW, NOW, position_now(VIEW, silver(uno=2, go=1)))
    assert is_all_behind(VIEW, NOW, position_now(VIEW, silver(uno=3)))
    assert is_all_behind(VIEW, NOW, position_now(VIEW, silver(uno=3, go=1, gone=1)))
    assert is_all_behind(ANEW, NOW, position_now(VIEW, NOW))


def test_a_view_is_behind_silver_that_was_restored_and_has_the_same_version_again():
    assert is_all_behind(VIEW, RESTORED, position_now(VIEW, NOW))
    assert unread(VIEW, RESTORED, position_now(VIEW, NOW)) == ("uno",)


def test_without_silver_there_is_nothing_to_compute():
    assert not is_all_behind(VIEW, {}, None)


def test_what_moved_on_is_unread_and_all_of_it_if_the_view_is_new():
    assert unread(VIEW, NOW, position_now(VIEW, silver(uno=2, go=1))) == ("uno",)
    assert unread(VIEW, NOW, position_now(VIEW, silver(go=1))) == ("uno",)
    assert unread(VIEW, NOW, None) == ("uno", "go")
    assert unread(ANEW, NOW, position_now(VIEW, NOW)) == ("uno", "go")


def test_a_view_is_held_up_by_a_game_that_it_would_read_anew():
    assert held_up_by(("uno", "go"), {"go": "some fails"}) == "go: some fails"
    assert held_up_by(("uno",), {"go": "some fails"}) is None
