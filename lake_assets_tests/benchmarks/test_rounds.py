import pytest

from benchmarks.peers import Peer
from benchmarks.rounds import LONG_S, play
from lake_assets.errors import StreamError


class Course:
    """Peers that note who ran, and on which ground."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.grounds: list[object] = []

    def peer(self, *measures: str, longer_s: float = 0.0) -> Peer:
        def run(ground: object) -> dict[str, float]:
            self.ran.append(measures[0])
            self.grounds.append(ground)
            return dict.fromkeys(measures, len(self.ran) + longer_s)

        return Peer(measures, run)

    def ground(self) -> object:
        return object()


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
    assert len(set(course.grounds)) == 4


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


def failing(course, *measures, may_fail):
    def run(_ground):
        course.ran.append(measures[0])
        raise StreamError("bench: b", "hangs", "Leave it out")

    return Peer(measures, run, may_fail=may_fail)


def test_a_peer_that_may_fail_is_left_out_with_its_reason_and_the_others_go_on(course):
    peers = [course.peer("a"), failing(course, "b", "b2", may_fail=True)]
    played = play(peers, 2, course.ground)
    assert (played.seconds, "".join(course.ran)) == ({"a": [3.0, 4.0]}, "abaa")
    assert played.failed == {"b": "bench: b: hangs. Leave it out"}


def test_a_peer_that_may_not_fail_ends_it(course):
    with pytest.raises(StreamError):
        play([failing(course, "b", may_fail=False)], 1, course.ground)
