"""Judging how sinks of feeds stand: rows that wait for too long, and dead letters. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lake_assets.model.alerts import AlertSeverity, Problem, ProblemKind


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkSeen:
    """What is known of a sink; times in seconds since 1970."""

    behind_since: float | None = None
    """When the oldest row came that it has not delivered; None if there is none."""

    recorded_at: float = 0.0
    """When it recorded something last; 0 of a sink that never began."""

    new_letters: int = 0
    letters_since: float | None = None


def judge_sinks(sinks: Mapping[str, SinkSeen], utc_now: float, may_wait_s: float) -> list[Problem]:
    """The problems of sinks, by `feed.sink`."""
    behind = (_behind(name, seen, utc_now, may_wait_s) for name, seen in sinks.items())
    refused = (_refused(name, seen, utc_now) for name, seen in sinks.items())
    return [problem for problem in (*behind, *refused) if problem is not None]


def _behind(name: str, seen: SinkSeen, utc_now: float, may_wait_s: float) -> Problem | None:
    if seen.behind_since is None or utc_now - seen.behind_since <= may_wait_s:
        return None
    stands_still = utc_now - seen.recorded_at > may_wait_s
    if not seen.recorded_at:
        what = "It never began: it cannot, or the streams began before it was declared"
    elif stands_still:
        what = f"Nothing was delivered since {_utc(seen.recorded_at)}"
    else:
        what = "It delivers, and rows come faster than they go, or came before it did"
    return Problem(
        kind=ProblemKind.SINK_BEHIND,
        subject=name,
        severity=AlertSeverity.ERROR if stands_still else AlertSeverity.WARNING,
        since=seen.behind_since,
        details=f"Rows of {_utc(seen.behind_since)} are not delivered. {what}. See the log of the "
        "streams for its reason, and `lake-assets doctor`",
    )


def _refused(name: str, seen: SinkSeen, utc_now: float) -> Problem | None:
    if not seen.new_letters:
        return None
    return Problem(
        kind=ProblemKind.DEAD_LETTERS,
        subject=name,
        severity=AlertSeverity.ERROR,
        since=utc_now if seen.letters_since is None else seen.letters_since,
        details=f"{seen.new_letters:,} rows are dead letters. The table of its deliveries says "
        f"why; once that is corrected, `lake-assets redeliver --sink "
        f"{name.partition('.')[2]}` sends them",
    )


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
