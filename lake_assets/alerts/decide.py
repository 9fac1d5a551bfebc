"""Deciding which problems are news: what is wrong now and what was before in, alerts out. Pure.

A problem is told of once when it begins and once when it is over. One that comes and goes within
`settle_s` is one problem: a check that fails in every other report would be news for ever.
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
    """When it was first seen; seconds since 1970, as all times here."""

    is_told: bool = False
    """Whether there was an alert that it began."""

    gone_since: float | None = None
    """When it was first not seen any more; None while it is seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What is wrong at a moment."""

    now: float
    problems: Sequence[Problem]
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
        look: what is wrong; the clock is in it.
        tracked: what the last decision returned.
        policy: how patient to be.

    Returns:
        What to tell, endings first, and what to hand to the next decision.
    """
    present = {problem.key: problem for problem in look.problems}
    before = {old.problem.key: old for old in tracked}
    ended = [old for old in tracked if _is_over(old, present.keys(), look, policy)]
    over = {old.problem.key for old in ended}
    kept = [_age(old, present.keys(), look) for old in tracked if old.problem.key not in over]
    new = [
        Tracked(problem=problem, seen_since=look.now)
        for key, problem in present.items()
        if key not in before
    ]
    followed = [_tell(entry, policy, look.now) for entry in (*kept, *new)]
    told = {old.problem.key for old in tracked if old.is_told}
    alerts = (
        *(_alert(Moment.ENDED, old, look.now) for old in ended if old.is_told),
        *(
            _alert(Moment.BEGUN, entry, look.now)
            for entry in followed
            if entry.is_told and entry.problem.key not in told
        ),
    )
    return alerts, tuple(followed)


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


def _alert(moment: Moment, entry: Tracked, now: float) -> Alert:
    return Alert(moment=moment, problem=entry.problem, at=now)
