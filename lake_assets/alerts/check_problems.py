"""Judging what checks tell: whether each passed in, problems out. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from lake_assets.model.alerts import AlertSeverity, Problem, ProblemKey, ProblemKind


def check_subject(asset: str, check: str, key: str | None) -> str:
    """The subject of a check's problem; a check of a whole asset has no key."""
    return "/".join(part for part in (asset, check, key) if part)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckFailure:
    """What is on record of a check that failed."""

    severity: AlertSeverity
    at: float
    """Seconds since 1970."""

    details: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChecksVerdict:
    """What the results of checks come to."""

    known: tuple[Problem, ...]
    """Open problems that are there still, as they were first told of."""

    new: tuple[str, ...]
    """Subjects of checks that fail and are no open problem."""

    unclear: frozenset[ProblemKey]
    """Problems of checks of which no current result tells."""


def judge_checks(
    passed: Mapping[str, bool | None], known: Mapping[ProblemKey, Problem]
) -> ChecksVerdict:
    """What checks tell.

    Args:
        passed: by subject; None where no current result tells.
        known: the open problems.
    """
    keys = {subject: (ProblemKind.CHECK_FAILED, subject) for subject in passed}
    failing = [subject for subject, has_passed in passed.items() if has_passed is False]
    return ChecksVerdict(
        known=tuple(known[keys[subject]] for subject in failing if keys[subject] in known),
        new=tuple(subject for subject in failing if keys[subject] not in known),
        unclear=frozenset(keys[subject] for subject in passed if passed[subject] is None),
    )


def check_problem(subject: str, failure: CheckFailure | None, utc_now: float) -> Problem:
    """The problem of a check that fails; of one with no record, a warning that begins now."""
    return Problem(
        kind=ProblemKind.CHECK_FAILED,
        subject=subject,
        severity=failure.severity if failure else AlertSeverity.WARNING,
        since=failure.at if failure else utc_now,
        details=failure.details if failure else "",
    )
