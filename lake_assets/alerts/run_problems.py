"""Judging runs of feeds that have a schedule: a tick passed, and its rows are not taken. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lake_assets.model.alerts import AlertSeverity, Problem, ProblemKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSeen:
    """What is known of a feed's runs; times in seconds since 1970."""

    tick: float
    """Its schedule's newest tick whose time of grace is over."""

    complete_at: float
    """All that its source had then is taken; or, of one that never was, since when it has its
    schedule."""

    failed_at: float | None = None
    """When the last run failed, if it did."""

    why: str = ""
    """Why, in words."""

    is_under_way: bool = False
    """Whether one is under way."""


def judge_runs(runs: Mapping[str, RunSeen], utc_now: float) -> list[Problem]:
    """The problems of feeds, by name, whose rows of a tick are not taken though it is time.

    Of a time to come, by a clock that was ahead, nobody knows whether all is taken.
    """
    return [
        _missed(feed, seen)
        for feed, seen in runs.items()
        if seen.complete_at < seen.tick or seen.complete_at > utc_now
    ]


def _missed(feed: str, seen: RunSeen) -> Problem:
    now = "One is under way. " if seen.is_under_way else ""
    failed = f"The last one failed: {seen.why.rstrip('.')}. " if seen.failed_at is not None else ""
    return Problem(
        kind=ProblemKind.RUN_MISSED,
        subject=feed,
        severity=AlertSeverity.WARNING if seen.is_under_way else AlertSeverity.ERROR,
        since=seen.tick,
        details=f"What its source had at {datetime.fromtimestamp(seen.tick, UTC):%Y-%m-%d %H:%M} "
        f"UTC is not all taken. {now}{failed}See the job `run_feed_{feed}` and its schedule",
    )
