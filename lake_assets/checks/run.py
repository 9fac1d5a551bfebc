"""Dataset checks from start to end: logs first, Spark only for what they do not tell."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from lake_assets.checks.checked_tables import gold_tables, silver_tables, told_by_log
from lake_assets.checks.evaluate import judge
from lake_assets.checks.measure import measure
from lake_assets.model.checks import GoldCheck, SilverCheck
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import CheckResult
from lake_assets.settings.schema import Settings
from lake_assets.spark.lent_session import LendSpark, session_for
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

StartSpark = Callable[[], SparkSession]
"""Gives the session; called only if there is something that needs one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """Which checks, of which keys."""

    silver: Sequence[SilverCheck] = ()
    silver_keys: Sequence[str] = ()
    gold: Mapping[str, Sequence[GoldCheck]] = field(default_factory=dict)
    """By view."""

    gold_keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By view."""


def run_checks(
    settings: Settings, feed: Feed, asked: Asked, lend: LendSpark | None = None
) -> list[CheckResult]:
    """Evaluate checks, in the session that is lent, or in one that ends with them.

    None is asked for, and Spark is not started, where logs tell all.

    Raises:
        FeedError: a check does not fit the columns of its table.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    with ExitStack() as stack:

        def start() -> SparkSession:
            return stack.enter_context(session_for(settings, lend))

        return evaluate(start, lake_of(settings), feed, asked)


def evaluate(start: StartSpark, lake: Store, feed: Feed, asked: Asked) -> list[CheckResult]:
    """As `run_checks`, in a session that `start` gives, with at most one Spark action."""
    tables = silver_tables(lake, feed, asked.silver_keys, asked.silver)
    for view in feed.gold:
        checks, keys = asked.gold.get(view.name, ()), asked.gold_keys.get(view.name, ())
        tables += gold_tables(lake, feed, view, keys, checks)
    values = {checked.subject.table: told_by_log(checked) for checked in tables}
    untold = [
        (checked, check)
        for checked in tables
        for check in checked.checks
        if check.name not in values[checked.subject.table]
    ]
    measured = measure(start(), untold) if untold else {}
    now = datetime.now(UTC)
    return [
        judge(
            subject,
            check,
            values[subject.table][check.name]
            if check.name in values[subject.table]
            else measured.get((subject.table.name, check.name), 0),  # files without rows
            now,
        )
        for subject, checks in ((checked.subject, checked.checks) for checked in tables)
        for check in checks
    ]
