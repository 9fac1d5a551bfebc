from itertools import islice
from random import Random

from faults.schedule import LONG, QUICK, turns

KINDS = ["a", "b", "c", "d"]


def drawn(seed, many=12):
    return [*islice(turns(KINDS, LONG, Random(seed)), many)]  # noqa: S311 - as the suite


def test_a_seed_fixes_kinds_order_pauses_and_durations():
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_each_kind_comes_once_before_any_comes_again():
    names = [turn.what for turn in drawn(3)]
    assert [sorted(names[i : i + 4]) for i in (0, 4, 8)] == [KINDS] * 3


def test_what_is_drawn_is_within_its_bounds():
    for turn in islice(turns(KINDS, QUICK, Random(1)), 100):  # noqa: S311 - as the suite
        assert QUICK.quiet_s[0] <= turn.quiet_s <= QUICK.quiet_s[1]
        assert QUICK.lasts_s[0] <= turn.lasts_s <= QUICK.lasts_s[1]


def test_of_no_kinds_there_are_no_turns():
    assert [*turns([], LONG, Random(1))] == []  # noqa: S311 - as the suite
