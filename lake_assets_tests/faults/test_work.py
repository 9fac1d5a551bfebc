import subprocess
from random import Random

import pytest

from faults.journal import Acked
from faults.work import Work
from lake_assets_tests.e2e.dev import wait_for

EVENTS = [
    Acked(1.0, "t", 0, n, f"e{n}", "uno", gamer)
    for n, gamer in enumerate(["w0-p1", "w0-p2", "w0-p1", "w1-p1", "w2-p1", ""])
]


class Stack:
    """Commands that end as a test says; what was asked is noted."""

    def __init__(self, statuses=()):
        self.statuses, self.asked = dict(statuses), []

    def log(self, line):
        """Nobody reads it."""

    def command(self, *arguments, within_s):
        del within_s
        self.asked.append(arguments)
        status = self.statuses.get(arguments[0], 0)
        return subprocess.CompletedProcess(arguments, status, "well\n", "error: badly\n")


@pytest.fixture
def begin():
    made = []

    def go(stack, *once):
        one = Work(
            stack=stack,
            random=Random(1),  # noqa: S311 - as the suite
            acked=lambda: EVENTS,
            began=0.0,
            pause_s=(0.0, 0.01),
        )
        one.start(once)
        made.append(one)
        wait_for(lambda: len(one.done) >= max(1, len(once)), "work", within_s=120)
        return one

    yield go
    for one in made:
        one.end()


def test_each_kind_of_work_is_done_in_turn_and_says_how_it_ended(begin):
    work = begin(Stack({"refresh": 1}), "maintain", "refresh")
    ends = [(one.kind, one.status, one.said) for one in work.done]
    assert ends == [("maintain", 0, "well"), ("refresh", 1, "error: badly")]


def test_a_player_of_the_past_is_erased_and_the_players_events_are_known(begin):
    stack = Stack()
    work = begin(stack, "erase")
    (_, (command, *options)) = stack.asked
    assert command == "erase"
    assert options[:3] == ["--column", "gamer_id", "--value"]
    who = options[3]
    assert who in {"w0-p1", "w0-p2"}  # others may still play
    assert work.erased == {event.id for event in EVENTS if event.gamer == who}
    assert work.doubtful == set()


def test_an_erasure_that_fails_is_doubtful_until_it_is_done_again(begin):
    class Failing(Stack):
        def command(self, *arguments, within_s):
            before = [asked for asked in self.asked if "--value" in asked]
            self.statuses["erase"] = int("--value" in arguments and not before)
            return super().command(*arguments, within_s=within_s)

    stack = Failing()
    work = begin(stack, "erase")
    asked = set(work.doubtful)
    assert (bool(asked), work.erased) == (True, set())
    assert work.finish_erasures() == []
    assert (work.erased, work.doubtful) == (asked, set())
    *_, first, again = stack.asked
    assert first == again  # by the values: hashes alone may not tell of all rows


def test_an_erasure_that_cannot_be_finished_says_why_and_stays_doubtful(begin):
    class Late(Stack):
        def command(self, *arguments, within_s):
            done = super().command(*arguments, within_s=within_s)
            if "--value" in arguments:
                done.stdout, done.returncode = "not done yet: b: a batch has it\nCopies: c\n", 1
            return done

    work = begin(Late(), "erase")
    (problem,) = work.finish_erasures()
    assert problem.endswith(" ended with 1: not done yet: b: a batch has it")
    assert (bool(work.doubtful), work.erased) == (True, set())


def test_what_was_acknowledged_when_its_erasure_had_begun_may_be_there_or_not(begin):
    work = begin(Stack(), "erase")
    erased = set(work.erased)
    (who,) = {event.gamer for event in EVENTS if event.id in erased}
    late = Acked(2.0, "t", 0, 9, "e9", "uno", who)
    work.acked = lambda: [*EVENTS, late]
    assert work.finish_erasures() == []
    assert (work.erased, work.doubtful) == (erased, {"e9"})


def test_a_command_that_is_not_there_is_skipped_by_name(begin):
    work = begin(Stack({"erase": 2}), "maintain")
    assert work.skipped == {"erase": "`lake-assets erase` is not there yet"}
