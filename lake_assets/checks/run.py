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
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.spark.session import start_session
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


def run_checks(settings: Settings, feed: Feed, asked: Asked) -> list[CheckResult]:
    """Evaluate checks; Spark is started if need be, and stopped.

    Raises:
        FeedError: a check does not fit the columns of its table.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    with ExitStack() as stack:

        def start() -> SparkSession:
            session = start_session(settings, ensure_runtime(settings))
            stack.callback(session.stop)
            return session

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
