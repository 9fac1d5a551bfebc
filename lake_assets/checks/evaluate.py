"""Judging what was found against what a check asks for. Pure; the clock is an argument."""

from datetime import datetime
from typing import TypeAlias

from humanfriendly import format_timespan

from lake_assets.checks.subject import CheckedValue, Subject
from lake_assets.model.checks import DatasetCheck, GoldCheck
from lake_assets.model.reports import CheckResult

_Judgement: TypeAlias = tuple[bool, float | None, str, str]
"""Whether it passed, the number, the limit, and both in words."""


def judge(subject: Subject, check: DatasetCheck, found: CheckedValue, now: datetime) -> CheckResult:
    """One key's result of one check.

    Args:
        subject: the table.
        check: what is asked for.
        found: rows that repeat others, rows, the newest time, or the sum, by the check's kind.
        now: what a time is old against.
    """
    if isinstance(found, datetime) or check.freshness is not None:
        passed, value, limit, words = _fresh(check, found, now)
    elif check.row_count is not None:
        rows = int(found or 0)
        least, most = check.row_count.min, check.row_count.max
        passed = (least is None or rows >= least) and (most is None or rows <= most)
        value, limit = float(rows), str(check.row_count)
        words = f"{rows:,} rows; asked for is {limit}"
    elif check.unique is not None:
        repeats = int(found or 0)
        passed, value, limit = repeats == 0, float(repeats), "0"
        columns = ", ".join(check.unique)
        words = f"{repeats:,} rows have the same {columns} as a row before them"
    else:
        passed, value, limit, words = _equal(subject, check, found)
    return CheckResult(
        key=subject.key,
        table=subject.table,
        name=check.name,
        severity=check.severity,
        passed=passed,
        found=value,
        limit=limit,
        words=words,
        version=subject.version,
    )


def _fresh(check: DatasetCheck, found: CheckedValue, now: datetime) -> _Judgement:
    assert check.freshness is not None  # noqa: S101 - the caller's case
    limit = str(check.freshness)
    column = check.freshness.column
    if not isinstance(found, datetime):
        return False, None, limit, f"no row has a {column}"
    age = (now - found).total_seconds()
    # Clocks differ a little; what comes from the future is new enough.
    spoken = format_timespan(max(age, 0.0), max_units=2)
    words = f"the newest {column} is {spoken} old; asked for is {limit}"
    return age <= check.freshness.max_age.total_seconds(), age, limit, words


def _equal(subject: Subject, check: DatasetCheck, found: CheckedValue) -> _Judgement:
    column = check.equals_source if isinstance(check, GoldCheck) else None
    version = subject.source_version
    if subject.source_rows is None:
        words = f"silver's log no longer tells its rows at version {version}; refresh the view"
        return False, None, "?", words
    rows = subject.source_rows
    if version is None:
        return True, 0.0, str(rows), "the view was never refreshed for this key"
    total = found if isinstance(found, int | float) else None
    words = f"the sum of {column} is {total}; silver has {rows:,} rows at version {version}"
    return total == rows, None if total is None else float(total), str(rows), words
