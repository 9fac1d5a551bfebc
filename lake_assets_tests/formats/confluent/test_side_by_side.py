"""Questions that are asked at once."""

import threading

import pytest

from lake_assets.formats.confluent.side_by_side import side_by_side


def test_answers_are_in_the_order_of_the_questions():
    assert side_by_side(lambda one: one * 2, range(100)) == [one * 2 for one in range(100)]
    assert side_by_side(str, []) == []
    assert side_by_side(str, [1]) == ["1"]


def test_some_are_asked_at_once_and_no_more_than_eight():
    open_now, most, lock = [0], [0], threading.Lock()
    together = threading.Barrier(8, timeout=60)

    def ask(_):
        with lock:
            open_now[0] += 1
            most[0] = max(most[0], open_now[0])
        together.wait()  # until eight are here
        with lock:
            open_now[0] -= 1

    side_by_side(ask, range(16))
    assert most == [8]


@pytest.mark.parametrize("count", [1, 20])
def test_what_one_raises_is_raised(count):
    def ask(one):
        raise ValueError(one)

    with pytest.raises(ValueError, match=r"\d"):
        side_by_side(ask, range(count))


def test_nothing_more_is_asked_once_one_has_failed_while_an_earlier_one_is_open():
    is_over, asked = threading.Event(), []

    def ask(one):
        asked.append(one)
        if one == 1:
            raise ValueError(one)
        if one == 19:
            is_over.set()
        is_over.wait(1)  # all others are open for as long as it takes to cancel the rest

    with pytest.raises(ValueError, match="1"):
        side_by_side(ask, range(20))
    assert len(asked) <= 9  # eight, and one in the place of the one that failed
