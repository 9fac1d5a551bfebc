"""When files have settled."""

from lake_assets.sources.files.found import Found
from lake_assets.sources.files.settling import Settling

NOW_NS = 1_000_000_000_000
YOUNG = Found("a", 1, NOW_NS)


def test_a_file_that_is_old_by_its_own_time_is_settled_at_once():
    settling = Settling(10)
    assert settling.is_settled(Found("a", 1, NOW_NS - 10 * 10**9), 0.0, NOW_NS)
    assert not settling.is_settled(Found("b", 1, NOW_NS - 9 * 10**9), 0.0, NOW_NS)
    assert len(settling) == 1


def test_a_young_one_is_once_it_has_stood_for_so_long():
    settling = Settling(10)
    assert not settling.is_settled(YOUNG, 0.0, NOW_NS)
    assert not settling.is_settled(YOUNG, 9.9, NOW_NS)
    assert settling.is_settled(YOUNG, 10.0, NOW_NS)
    assert not len(settling)


def test_one_that_changes_meanwhile_begins_anew():
    settling = Settling(10)
    settling.is_settled(YOUNG, 0.0, NOW_NS)
    grown = YOUNG._replace(size=2)
    assert not settling.is_settled(grown, 10.0, NOW_NS)
    assert settling.is_settled(grown, 20.0, NOW_NS)


def test_a_time_to_come_tells_nothing():
    settling, ahead = Settling(10), Found("a", 1, NOW_NS * 2)
    assert not settling.is_settled(ahead, 0.0, NOW_NS)
    assert settling.is_settled(ahead, 10.0, NOW_NS)


def test_nothing_is_waited_for_where_nobody_asks():
    assert Settling(0).is_settled(YOUNG, 0.0, NOW_NS)


def test_what_went_is_forgotten():
    settling = Settling(10)
    settling.is_settled(YOUNG, 0.0, NOW_NS)
    settling.forget({"b"})
    assert not len(settling)
