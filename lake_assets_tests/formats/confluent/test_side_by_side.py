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

    with pytest.raises(ValueError, match="0"):
        side_by_side(ask, range(count))
