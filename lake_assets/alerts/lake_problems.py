"""Judging what the lake itself tells: feeds that stopped, rows and files lost, sinks. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lake_assets.alerts.sink_problems import SinkSeen, judge_sinks
from lake_assets.model.alerts import BACKUP, AlertSeverity, Problem, ProblemKind
from lake_assets.model.gaps import NEW_FOR_S, Gap

_NAMED_AT_MOST = 3
"""Gaps, or files, named in an alert; tables have all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenGap:
    """A gap that was recorded."""

    gap: Gap
    at: float
    """When; seconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenChange:
    """A file that is another than when it was found."""

    file: str
    state: str
    """`grown` or `rewritten`."""

    at: float
    """When that was noticed; seconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenBackups:
    """What is known of backups that are to be made; times in seconds since 1970."""

    target: str
    """Where they go."""

    since: float
    """When the last good one was made, or, if there was none, they were first asked for."""

    may_be_s: float
    """How many seconds old the last one may be."""

    number: int | None = None
    """Of the last good one; None if there was none."""

    failed_at: float | None = None
    """When the last try failed; None if it did not."""

    why: str = ""
    """Why, in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LakeSeen:
    """What the lake tells at a moment."""

    utc_now: float
    """Seconds since 1970; of gaps it is asked by the clock of the wall how old they are."""

    stopped: Mapping[str, str] = field(default_factory=dict)
    """By feed whose batch is poisoned, which and why, in words."""

    gaps: Mapping[str, Sequence[SeenGap]] = field(default_factory=dict)
    """By feed, those that were recorded."""

    changes: Mapping[str, Sequence[SeenChange]] = field(default_factory=dict)
    """By feed that reads files, those that changed."""

    backups: SeenBackups | None = None
    """None if none are to be made."""

    sinks: Mapping[str, SinkSeen] = field(default_factory=dict)
    """By `feed.sink`, those that began."""

    sinks_may_wait_s: float = 900.0


def judge_lake(seen: LakeSeen) -> list[Problem]:
    """What is wrong."""
    stopped = [
        Problem(
            kind=ProblemKind.FEED_STOPPED,
            subject=feed,
            severity=AlertSeverity.ERROR,
            since=seen.utc_now,
            details=why,
        )
        for feed, why in seen.stopped.items()
    ]
    lost = (_lost(feed, gaps, seen.utc_now) for feed, gaps in seen.gaps.items())
    changed = (_changed(feed, files, seen.utc_now) for feed, files in seen.changes.items())
    old = _old(seen.backups, seen.utc_now) if seen.backups else None
    of_sinks = judge_sinks(seen.sinks, seen.utc_now, seen.sinks_may_wait_s)
    return [*stopped, *(one for one in (*lost, *changed, old) if one is not None), *of_sinks]


def _old(backups: SeenBackups, utc_now: float) -> Problem | None:
    """The backups, if the last good one is too old."""
    age_s = utc_now - backups.since
    if abs(age_s) <= backups.may_be_s:
        return None
    last = f"The last good backup, number {backups.number} of {_utc(backups.since)}, is"
    none = f"There is no backup yet, though it was asked for on {_utc(backups.since)},"
    # Of a time to come, by a clock that was ahead, nobody knows the age; it may be long.
    is_ahead, hours = age_s < 0, f"{abs(age_s) / 3600:.1f} h"
    ago = f"{hours} from now (the clock was set back since)" if is_ahead else f"{hours} ago"
    tried = f" The last try, on {_utc(backups.failed_at)}, failed: " if backups.failed_at else ""
    tried += backups.why.rstrip(".") + "." if backups.failed_at else ""
    return Problem(
        kind=ProblemKind.BACKUP_OLD,
        subject=BACKUP,
        severity=AlertSeverity.ERROR,
        since=utc_now if is_ahead else backups.since + backups.may_be_s,
        details=f"{none if backups.number is None else last} {ago}, in "
        f"{backups.target}; it may be {backups.may_be_s / 3600:g} h old.{tried} "
        "See the job `backup` and its schedule in Dagster",
    )


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _named(every: Sequence[str]) -> str:
    """The first of some things, and how many there are beside."""
    named = ", ".join(every[:_NAMED_AT_MOST])
    more = len(every) - _NAMED_AT_MOST
    return f"{named}, and {more} more" if more > 0 else named


def _lost(feed: str, gaps: Sequence[SeenGap], utc_now: float) -> Problem | None:
    """The rows that were lost lately, if some were."""
    lost = (one for one in gaps if one.gap.is_loss and utc_now - one.at < NEW_FOR_S)
    new = sorted(lost, key=lambda one: one.at)
    if not new:
        return None
    named = _named([f"{one.gap} of {one.gap.source} ({one.gap.reason})" for one in new])
    return Problem(
        kind=ProblemKind.ROWS_LOST,
        subject=feed,
        severity=AlertSeverity.ERROR,
        since=new[0].at,
        details=f"{named}: passed over. The table `gaps` has all",
    )


def _changed(feed: str, files: Sequence[SeenChange], utc_now: float) -> Problem | None:
    """The files that changed lately, if some did."""
    lately = (one for one in files if utc_now - one.at < NEW_FOR_S)
    new = sorted(lately, key=lambda one: one.at)
    if not new:
        return None
    named = _named([f"{one.file} ({one.state})" for one in new])
    return Problem(
        kind=ProblemKind.FILES_CHANGED,
        subject=feed,
        severity=AlertSeverity.WARNING,
        since=new[0].at,
        details=f"{named}: changed since they were found, and are not read again. "
        "Put what is new into the folder under another name",
    )
