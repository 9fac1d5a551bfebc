from contextlib import contextmanager

import pytest

from lake_assets.bench.peers import Peer
from lake_assets.bench.rounds import LONG_S, play


class Course:
    """Peers that note who ran, on grounds that note that they were made anew and given up."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.open = self.made = 0

    def peer(self, *measures: str, longer_s: float = 0.0) -> Peer:
        def run(_ground: object) -> dict[str, float]:
            assert self.open == 1
            self.ran.append(measures[0])
            return dict.fromkeys(measures, len(self.ran) + longer_s)

        return Peer(measures, run)

    @contextmanager
    def ground(self):
        self.made += 1
        self.open += 1
        yield None
        self.open -= 1


@pytest.fixture
def course() -> Course:
    return Course()


def test_the_first_round_does_not_count(course):
    played = play([course.peer("a")], 2, course.ground)
    assert (played.seconds, played.once) == ({"a": [2.0, 3.0]}, ())


def test_each_round_begins_with_the_next_peer(course):
    play([course.peer(name) for name in "abc"], 3, course.ground)
    assert "".join(course.ran) == "abcbcacababc"


def test_each_peer_runs_on_ground_of_its_own(course):
    play([course.peer("a"), course.peer("b")], 1, course.ground)
    assert (course.made, course.open) == (4, 0)


def test_a_peer_may_measure_several_things(course):
    found = play([course.peer("ingest", "demux")], 1, course.ground)
    assert found.seconds == {"ingest": [2.0], "demux": [2.0]}


def test_every_run_is_told_with_its_round(course):
    told = []
    play([course.peer("a")], 1, course.ground, on_run=lambda *run: told.append(run))
    assert told == [(0, "a", 1.0), (1, "a", 2.0)]


def test_a_run_that_is_long_counts_and_is_not_repeated(course):
    slow, quick = course.peer("slow", longer_s=LONG_S), course.peer("quick")
    played = play([slow, quick], 2, course.ground)
    assert "".join(name[0] for name in course.ran) == "sqqq"
    assert played.seconds == {"slow": [LONG_S + 1], "quick": [3.0, 4.0]}
    assert played.once == ("slow",)


def test_a_run_that_is_long_in_a_round_that_counts_is_repeated(course):
    slow = course.peer("slow", longer_s=LONG_S)
    played = play([slow], 2, course.ground, warm_up=False)
    assert (len(played.seconds["slow"]), played.once) == (2, ())
