from typing import Any

import pytest

from lake_assets.alerts.problems import (
    Death,
    StreamsPatience,
    StreamsSeen,
    StreamsVerdict,
    judge_refresh,
    judge_refreshes,
    judge_streams,
    unclear_problems,
)
from lake_assets.model.alerts import STREAM_KINDS, AlertSeverity
from lake_assets.model.alerts import ProblemKind as Kind
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.model.processes import ProcessId
from lake_assets_tests.alerts.problems import problem

PATIENCE = StreamsPatience(stall_after_s=180, silent_after_s=60, proven_after_s=60)
NOW = 10_000.0
UTC_NOW = 1.8e9


def beat(
    *,
    at: float = NOW,
    progressed_at: float = NOW,
    started_at: float = NOW - 1000,
    owner: str = "run-1",
    waiting_for: str | None = None,
) -> Heartbeat:
    return Heartbeat(
        process=ProcessId(boot="now", pid=1, start="2"),
        owner=owner,
        began_at=started_at,
        at=at,
        progressed_at=progressed_at,
        waiting_for=waiting_for,
    )


def judge(
    found: Heartbeat | None = None, *, open_kind: Kind | None = None, **facts: Any
) -> tuple[Kind | None, bool]:
    usual = {"is_locked": True, "is_beater_alive": True, "is_wanted": True, "known_run": ""}
    usual |= {"awake_since": NOW - 5000}
    verdict = judge_streams(
        StreamsSeen(now=NOW, utc_now=UTC_NOW, beat=found, **(usual | facts)),
        {open_kind} if open_kind else set(),
        PATIENCE,
    )
    return verdict.problem.kind if verdict.problem else None, verdict.is_clear


def test_streams_that_get_on_are_well():
    assert judge(beat()) == (None, True)


def test_silent_streams_stand_still():
    assert judge(beat(at=NOW - 61)) == (Kind.STREAMS_STALLED, True)


def test_stuck_streams_stand_still():
    assert judge(beat(progressed_at=NOW - 181)) == (Kind.STREAMS_STALLED, True)


def test_waiting_streams_wait():
    waiting = beat(progressed_at=NOW - 181, waiting_for="no broker")
    assert judge(waiting) == (Kind.STREAMS_WAITING, True)


def test_an_unknown_holder_says_nothing():
    assert judge(None) == (None, False)
    assert judge(beat(), is_beater_alive=False) == (None, False)


def test_streams_that_nobody_wants_are_not_missed():
    long_ago = beat(at=NOW - 4000)
    assert judge(long_ago, is_locked=False, is_wanted=False) == (None, True)


DEAD = Death(run_id="run-1", at=UTC_NOW - 5)
DIED_A_MOMENT_AGO = beat(at=NOW - 6, progressed_at=NOW - 6)


def test_streams_that_died_are_down():
    assert judge(DIED_A_MOMENT_AGO, is_locked=False, death=DEAD) == (Kind.STREAMS_FAILED, False)


def test_streams_that_died_before_they_began_are_down():
    assert judge(None, is_locked=False, death=DEAD) == (Kind.STREAMS_FAILED, False)


def test_a_death_between_two_looks_is_noticed_though_others_run_by_now():
    young = beat(started_at=NOW - 2, owner="run-2")
    assert judge(young, death=DEAD) == (Kind.STREAMS_FAILED, False)


def test_a_death_is_noticed_though_the_next_process_waits():
    young = beat(started_at=NOW - 2, owner="run-2", waiting_for="no broker")
    assert judge(young, death=DEAD) == (Kind.STREAMS_FAILED, False)


def test_a_death_is_news_once():
    assert judge(beat(owner="run-2"), death=DEAD, known_run="run-1") == (None, True)


def test_a_death_that_nobody_watched_is_no_news():
    assert judge(
        beat(at=NOW - 5001), is_locked=False, death=DEAD, awake_since=NOW, known_run=None
    ) == (None, False)


@pytest.mark.parametrize("step_s", [-86_400, -10, 3600])
def test_a_death_is_news_whatever_the_clock_of_the_wall_says(step_s):
    died = Death(run_id="run-1", at=UTC_NOW - 5 - step_s)
    assert judge(DIED_A_MOMENT_AGO, is_locked=False, death=died)[0] is Kind.STREAMS_FAILED


def test_a_stall_is_told_by_the_clock_of_the_wall():
    seen = StreamsSeen(
        now=NOW,
        utc_now=UTC_NOW,
        awake_since=0,
        known_run="",
        is_wanted=True,
        is_locked=True,
        is_beater_alive=True,
        beat=beat(progressed_at=NOW - 181),
    )
    problem = judge_streams(seen, set(), PATIENCE).problem
    assert problem.since == UTC_NOW - 181


def test_a_death_marked_only_after_the_start_is_no_news():
    assert judge(beat(at=NOW - 900), is_locked=False, death=DEAD, awake_since=NOW - 30) == (
        None,
        False,
    )


def test_streams_are_given_time_to_come_up():
    assert judge(None, is_locked=False, awake_since=NOW - 119) == (None, False)


@pytest.mark.parametrize("last", [None, beat(at=NOW - 900)])
def test_streams_that_never_come_up_are_down(last):
    found = judge(last, is_locked=False, awake_since=NOW - 121)
    assert found == (Kind.STREAMS_FAILED, False)


def test_a_failure_is_over_once_a_process_has_proven_itself():
    young = beat(started_at=NOW - 60)
    old = beat(started_at=NOW - 61)
    assert judge(young, open_kind=Kind.STREAMS_FAILED) == (None, False)
    assert judge(old, open_kind=Kind.STREAMS_FAILED) == (None, True)


def test_a_failure_lasts_while_nothing_runs():
    found = judge(beat(at=NOW - 20), is_locked=False, open_kind=Kind.STREAMS_FAILED)
    assert found == (None, False)


def test_streams_that_the_supervisor_ended_since_they_stood_still_are_not_down_as_well():
    assert judge(
        beat(at=NOW - 6, progressed_at=NOW - 200),
        is_locked=False,
        death=DEAD,
        open_kind=Kind.STREAMS_STALLED,
    ) == (None, False)


def test_a_stall_that_ended_between_two_looks_is_noticed():
    found = judge(beat(at=NOW - 6, progressed_at=NOW - 187), is_locked=False, death=DEAD)
    assert found == (Kind.STREAMS_STALLED, False)


def test_a_stall_is_over_once_a_process_has_lived_longer_than_a_stall():
    for age_s, is_clear in ((180, False), (181, True)):
        found = judge(beat(started_at=NOW - age_s), open_kind=Kind.STREAMS_STALLED)
        assert found == (None, is_clear)


def test_a_refresh_that_left_nothing_behind_was_not_missed():
    assert judge_refresh("gold", tick=100, behind={}) is None
    assert judge_refresh("gold", tick=100, behind={"uno": 100.0}) is None


def test_a_missed_refresh_names_some_of_its_games():
    behind = {f"g{n}": 99.0 for n in range(7)} | {"late": 101.0}
    found = judge_refresh("gold", tick=100, behind=behind)
    assert (found.kind, found.subject, found.since) == (Kind.REFRESH_MISSED, "gold", 100)
    assert found.severity is AlertSeverity.ERROR
    assert "1970-01-01 00:01 UTC" in found.details
    assert "7 key(s): g0, g1, g2, g3, g4, …" in found.details


def test_views_are_missed_whose_schedule_ticked():
    behind = {"gold_late": {"uno": 99.0}, "gold_off": {"uno": 1.0}, "gold_new": {"uno": 101.0}}
    missed = judge_refreshes({"gold_late": 100.0, "gold_new": 100.0}, behind)
    assert [problem.subject for problem in missed] == ["gold_late"]


def test_what_nobody_looked_at_is_unclear():
    missed = (Kind.REFRESH_MISSED, "gold")
    known = {missed: problem("gold", Kind.REFRESH_MISSED)}
    clear, unclear = StreamsVerdict(), StreamsVerdict(is_clear=False)
    assert unclear_problems(known, clear, is_gold_seen=True) == frozenset()
    assert unclear_problems(known, clear, is_gold_seen=False) == {missed}
    streams = {(kind, "streams") for kind in STREAM_KINDS}
    assert unclear_problems(known, unclear, is_gold_seen=True) == streams
