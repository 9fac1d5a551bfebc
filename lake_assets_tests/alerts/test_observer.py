from dataclasses import dataclass, field

from lake_assets.alerts.check_problems import CheckFailure
from lake_assets.alerts.decide import Tracked
from lake_assets.alerts.forecasts import ForecastFacts, Horizon, Sample
from lake_assets.alerts.lake_problems import LakeSeen
from lake_assets.alerts.observer import Observer
from lake_assets.alerts.problems import Death, StreamsPatience, StreamsSeen
from lake_assets.alerts.run_problems import RunSeen
from lake_assets.alerts.sensor_cursor import Watch
from lake_assets.errors import LakeError
from lake_assets.model.alerts import STREAM_KINDS, AlertSeverity
from lake_assets.model.alerts import ProblemKind as Kind
from lake_assets_tests.alerts.problems import problem

NOW, UTC_NOW = 5_000.0, 1.8e9
WATCH = Watch(boot="b", awake_since=100.0, last_at=NOW, last_utc=UTC_NOW, known_run="before")
PATIENCE = StreamsPatience(stall_after_s=180, silent_after_s=60, proven_after_s=60)
HORIZON = Horizon(retention_s=3_600, disk_s=3_600, refresh_share=0.8)
OFF = {"is_wanted": False, "is_locked": False, "newest_run": "newest"}
MISSED = problem("gold", Kind.REFRESH_MISSED)


@dataclass
class Reader:
    """Facts as a test gives them."""

    is_readable: bool = True
    seen: dict[str, object] = field(default_factory=lambda: OFF)
    passed: dict[str, bool | None] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)
    free_bytes: int | None = None
    late_runs: dict[str, RunSeen] | None = None

    def streams(self):
        return StreamsSeen(
            now=NOW, utc_now=UTC_NOW, awake_since=100.0, known_run="before", **self.seen
        )

    def checks(self):
        return self.passed

    def check_failure(self, subject):
        self.asked.append(subject)
        return CheckFailure(severity=AlertSeverity.ERROR, at=7.0, details="rows seen: 8")

    def lake(self):
        if not self.is_readable:
            raise LakeError("gaps", "cannot be read", "Look at it")
        return LakeSeen(utc_now=UTC_NOW, stopped=self.stopped)

    def forecast(self):
        if self.free_bytes is None:
            return None
        samples = [Sample(at=NOW - 600, boot="b", free_bytes=2 * self.free_bytes)]
        now = Sample(at=NOW, boot="b", free_bytes=self.free_bytes)
        return ForecastFacts(utc_now=UTC_NOW, samples=[*samples, now])

    def runs(self):
        return self.late_runs

    def ticks(self):
        return {"gold": UTC_NOW - 130}

    def behind_since(self):
        self.asked.append("gold")
        if not self.is_readable:
            raise LakeError("gold", "cannot be read", "Look at it")
        return {"gold": {"uno": UTC_NOW - 500}}


def observer(reader, watch=WATCH):
    return Observer(reader, watch, PATIENCE, HORIZON, grace_s=120)


def test_all_that_is_wrong_is_seen_at_once():
    reader = Reader(passed={"a/known/uno": False})
    observing = observer(reader)
    look = observing.look(())
    assert [(found.kind, found.subject) for found in look.problems] == [
        (Kind.REFRESH_MISSED, "gold"),
        (Kind.CHECK_FAILED, "a/known/uno"),
    ]
    assert (look.now, look.utc_now, look.boot, look.unclear) == (NOW, UTC_NOW, "b", frozenset())
    assert (observing.watch.known_run, observing.watch.gold_at) == ("newest", NOW)


def test_what_is_on_record_of_a_known_problem_is_not_asked_again():
    known = problem("a/known/uno")
    reader = Reader(passed={"a/known/uno": False})
    look = observer(reader).look([Tracked(problem=known, seen_since=1.0)])
    assert known in look.problems
    assert reader.asked == ["gold"]


def test_gold_that_is_not_due_is_not_looked_at_and_its_problems_are_unclear():
    reader = Reader()
    young = observer(reader, Watch(boot="b", awake_since=NOW - 100, last_at=NOW, last_utc=UTC_NOW))
    look = young.look([Tracked(problem=MISSED, seen_since=1.0)])
    assert (look.problems, look.unclear, reader.asked) == ((), {MISSED.key}, [])
    assert young.watch.gold_at == Watch().gold_at


def test_a_lake_that_cannot_be_read_is_told_and_ends_nothing():
    observing = observer(Reader(is_readable=False))
    look = observing.look([Tracked(problem=MISSED, seen_since=1.0)])
    assert (look.problems, look.unclear) == ((), {MISSED.key})
    assert observing.complaints == (
        "gold: cannot be read. Look at it",
        "gaps: cannot be read. Look at it",
    )


def test_a_feed_that_stopped_is_a_problem_that_lasts_while_nobody_can_tell():
    (stopped,) = [
        found
        for found in observer(Reader(stopped={"games": "why"})).look(()).problems
        if found.subject == "games"
    ]
    assert (stopped.kind, stopped.details) == (Kind.FEED_STOPPED, "why")
    unreadable = observer(Reader(is_readable=False))
    look = unreadable.look([Tracked(problem=stopped, seen_since=1.0)])
    assert stopped.key in look.unclear


def test_streams_that_died_are_a_problem_and_their_others_unclear():
    death = Death(run_id="newest", at=UTC_NOW - 1)
    gone = {"is_wanted": True, "is_locked": False, "newest_run": "newest", "death": death}
    look = observer(Reader(seen=gone)).look(())
    assert Kind.STREAMS_FAILED in {found.kind for found in look.problems}
    assert look.unclear == {(kind, "streams") for kind in STREAM_KINDS}


def test_what_is_to_come_is_a_problem_that_lasts_until_the_next_look():
    (full,) = [
        found
        for found in observer(Reader(free_bytes=10**9)).look(()).problems
        if found.kind is Kind.DISK_FILLS
    ]
    look = observer(Reader()).look([Tracked(problem=full, seen_since=1.0)])
    assert full.key in look.unclear


def test_a_late_run_is_a_problem_that_lasts_while_nobody_can_tell():
    seen = {"a": RunSeen(tick=UTC_NOW - 60, complete_at=UTC_NOW - 90)}
    late = [
        found
        for found in observer(Reader(late_runs=seen)).look(()).problems
        if found.kind is Kind.RUN_MISSED
    ]
    assert [found.subject for found in late] == ["a"]
    tracked = [Tracked(problem=late[0], seen_since=1.0)]
    assert late[0].key in observer(Reader(late_runs=None)).look(tracked).unclear
    over = observer(Reader(late_runs={})).look(tracked)
    assert late[0].key not in {*over.unclear, *(found.key for found in over.problems)}
