"""Deciding which problems are news: what is wrong now and what was before in, alerts out. Pure.

A problem is told of once when it begins and once when it is over. One that comes and goes within
`settle_s` is one problem: a check that fails in every other report would be news for ever.

How long something lasts is told by the monotonic clock of a boot, when it was by the wall's.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from lake_assets.model.alerts import Alert, Moment, Problem, ProblemKey, ProblemKind

_ENDED_BY_JUDGE = {ProblemKind.STREAMS_FAILED, ProblemKind.STREAMS_STALLED}
"""Kinds whose judge says that they are over only once that is certain; see `judge`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tracked:
    """A problem that was seen and is not over."""

    problem: Problem
    seen_since: float
    """When it was first seen, by the monotonic clock of `boot`, or since that boot."""

    is_told: bool = False
    """Whether there was an alert that it began."""

    gone_since: float | None = None
    """When it was first not seen any more, by the same clock; None while it is seen."""

    boot: str = ""
    """Whose clock the times are by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What is wrong at a moment."""

    now: float
    """By the monotonic clock of `boot`."""

    utc_now: float
    """Seconds since 1970, for what is told."""

    problems: Sequence[Problem]
    boot: str = ""
    unclear: frozenset[ProblemKey] = frozenset()
    """Problems that may or may not be there: nobody looked, or nobody could tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """How patient alerts are; all in seconds."""

    settle_s: float
    """A problem is over once it was not seen for this long."""

    waiting_after_s: float
    """Streams that wait for something are told of once they have waited this long."""


def decide(
    look: Look, tracked: Sequence[Tracked], policy: Policy
) -> tuple[tuple[Alert, ...], tuple[Tracked, ...]]:
    """Compare what is wrong with what was.

    Args:
        look: what is wrong; the clocks are in it.
        tracked: what the last decision returned.
        policy: how patient to be.

    Returns:
        What to tell, endings first, and what to hand to the next decision.
    """
    tracked = [_since_boot(old, look) for old in tracked]
    present = {problem.key: problem for problem in look.problems}
    before = {old.problem.key: old for old in tracked}
    ended = [old for old in tracked if _is_over(old, present.keys(), look, policy)]
    over = {old.problem.key for old in ended}
    kept = [_age(old, present.keys(), look) for old in tracked if old.problem.key not in over]
    new = [
        Tracked(problem=problem, seen_since=look.now, boot=look.boot)
        for key, problem in present.items()
        if key not in before
    ]
    followed = [_tell(entry, policy, look.now) for entry in (*kept, *new)]
    told_before = {old.problem.key for old in tracked if old.is_told}
    alerts = (
        *(_alert(Moment.ENDED, old, look.utc_now) for old in ended if old.is_told),
        *(
            _alert(Moment.BEGUN, entry, look.utc_now)
            for entry in followed
            if entry.is_told and entry.problem.key not in told_before
        ),
    )
    return alerts, tuple(followed)


def _since_boot(old: Tracked, look: Look) -> Tracked:
    """A problem with times of another boot is counted from now: how long ago, nobody can say."""
    if old.boot == look.boot:
        return old
    gone_since = None if old.gone_since is None else look.now
    return replace(old, boot=look.boot, seen_since=look.now, gone_since=gone_since)


def _is_over(old: Tracked, present: AbstractSet[ProblemKey], look: Look, policy: Policy) -> bool:
    key = old.problem.key
    if key in present or key in look.unclear:
        return False
    settle_s = 0.0 if key[0] in _ENDED_BY_JUDGE else policy.settle_s
    gone_since = look.now if old.gone_since is None else old.gone_since
    return look.now - gone_since >= settle_s


def _age(old: Tracked, present: AbstractSet[ProblemKey], look: Look) -> Tracked:
    key = old.problem.key
    if key in present:
        return replace(old, gone_since=None)
    if key in look.unclear or old.gone_since is not None:
        return old
    return replace(old, gone_since=look.now)


def _tell(entry: Tracked, policy: Policy, now: float) -> Tracked:
    is_waiting = entry.problem.kind is ProblemKind.STREAMS_WAITING
    patience_s = policy.waiting_after_s if is_waiting else 0.0
    is_due = entry.gone_since is None and now - entry.seen_since >= patience_s
    return replace(entry, is_told=True) if is_due else entry


def _alert(moment: Moment, entry: Tracked, at: float) -> Alert:
    return Alert(moment=moment, problem=entry.problem, at=at)
