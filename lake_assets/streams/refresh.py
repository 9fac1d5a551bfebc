"""A gold refresh with its checks: what blocks a key is asked before, gold's own checks after.

All of it is one Spark session. How views are computed is `gold`'s business.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from lake_assets.checks.run import Asked, evaluate, run_checks
from lake_assets.delta.log_history import identity, open_table
from lake_assets.gold.quality_gate import blocked_keys
from lake_assets.gold.run import Around, Warm, refresh_views
from lake_assets.gold.status import blocked_of_others, keys_unread
from lake_assets.gold.view_expectations import recount
from lake_assets.lineage.refreshes import told_of_refreshes
from lake_assets.model.checks import Severity, SilverCheck
from lake_assets.model.expectations import Action
from lake_assets.model.failures import Failures
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import fillers
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import CheckResult, Judged, Refreshed, RefreshReport
from lake_assets.settings.schema import Settings
from lake_assets.spark.lent_session import LendSpark, session_for
from lake_assets.state.failing_expectations import Verdict, failures_of_tables, note_verdicts
from lake_assets.state.lake_id import ensure_bound
from lake_assets.state.refresh_strikes import clear_strikes
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.refresh_requests import ask_streams


def refresh_gold(  # noqa: PLR0913 - of what, which of it, and where
    settings: Settings,
    feed: Feed,
    *,
    views: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    full_refresh: bool = False,
    warm: Warm | None = None,
    lend: LendSpark | None = None,
) -> Refreshed:
    """Bring gold views up to date, except for keys that a blocking expectation or check holds up.

    The process of the lake's streams does it if there is one, since it has Spark already.

    Args:
        settings: where the lake is.
        feed: whose views.
        views: their names; by default all, but not those over all keys if `keys` are named.
        keys: keys to look at; all the lake knows by default.
        full_refresh: compute all keys again, also those whose silver did not change.
        warm: the session to use; by default that of the streams.
        lend: gives a session where the streams do not run; by default one is started.

    Raises:
        FeedError: the feed has no such view or key, or a view or a check does not compile.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    if warm is None and not full_refresh:
        done = ask_streams(settings, feed, views=views, keys=keys)
        if done is not None:
            return done
    blocking_results: list[CheckResult] = []
    gold_results: dict[str, Sequence[CheckResult]] = {}

    def before(session: SparkSession, wanted: Sequence[str]) -> Mapping[str, str]:
        blocked, results = _blocked(settings, feed, session, wanted)
        blocking_results.extend(results)
        return blocked

    def after(session: SparkSession, reports: Sequence[RefreshReport]) -> None:
        gold_results.update(_gold_checks(settings, feed, session, reports))

    with told_of_refreshes(settings, feed, is_last=warm is None) as lineage:
        around = Around(before=before, after=after, began=lineage.began, ended=lineage.ended)
        reports = refresh_views(
            settings,
            feed,
            views=views,
            keys=keys,
            full_refresh=full_refresh,
            around=around,
            warm=warm,
            lend=lend,
        )
    if warm is None:
        for view in {refresh.view for report in reports for refresh in report.refreshed}:
            clear_strikes(settings.state_dir, f"{feed.feed}.{view}")
    return Refreshed(reports=reports, silver_checks=blocking_results, gold_checks=gold_results)


def check_silver(
    settings: Settings,
    feed: Feed,
    checks: Sequence[SilverCheck],
    keys: Sequence[str],
    lend: LendSpark | None = None,
) -> list[CheckResult]:
    """Evaluate checks of silver, and keep what fails for the next refresh.

    Raises:
        LakeAssetsError: a check does not fit, or Spark or the lake cannot be used.
    """
    ensure_bound(settings)
    results = run_checks(settings, feed, Asked(silver=checks, silver_keys=keys), lend)
    _note(settings, feed, results)
    return results


def _blocked(
    settings: Settings, feed: Feed, session: SparkSession, keys: Sequence[str]
) -> tuple[dict[str, str], list[CheckResult]]:
    """By key that must be left as it is, why; and what silver's blocking checks came to.

    Keys of other feeds that are read, as `feed.key`, by what was found last.
    """
    lake = lake_of(settings)
    failures = failures_of_tables(settings.state_dir, fillers(feed))
    versions = {
        key: head[0] for key in keys if (head := identity(lake, feed.silver_table(key))) is not None
    }
    checks = [check for check in feed.checks if check.blocking]
    results: list[CheckResult] = []
    if checks:
        unread = keys_unread(settings, feed, failures)
        request = Asked(silver=checks, silver_keys=[key for key in versions if key in unread])
        results = evaluate(lambda: session, lake, feed, request)
        _note(settings, feed, results)
        failures = failures_of_tables(settings.state_dir, fillers(feed))
        # A commit since the look above would else make a failure seem to be of an older version.
        versions |= {result.key: result.version for result in results if result.version is not None}
    others = blocked_of_others(settings, feed)
    return {**blocked_keys(feed, failures, versions), **others}, results


def _note(settings: Settings, feed: Feed, results: Iterable[CheckResult]) -> Failures:
    verdicts = [
        Verdict(
            key=result.key,
            name=result.name,
            severity=None if result.passed else result.severity,
            words=result.words,
            version=result.version,
        )
        for result in results
    ]
    return note_verdicts(settings.state_dir, feed.feed, verdicts, datetime.now(UTC))


def _gold_checks(
    settings: Settings, feed: Feed, session: SparkSession, reports: Sequence[RefreshReport]
) -> dict[str, Sequence[CheckResult]]:
    """By view, what its checks and expectations say of the keys that were refreshed."""
    done = [refresh for report in reports for refresh in report.refreshed]
    refreshed = {
        view.name: [refresh.key for refresh in done if refresh.view == view.name]
        for view in feed.gold
    }
    tables = {
        view.name: {feed.gold_table(view, g) for g in refreshed[view.name]} for view in feed.gold
    }
    request = Asked(gold={view.name: view.checks for view in feed.gold}, gold_keys=refreshed)
    results = evaluate(lambda: session, lake_of(settings), feed, request)
    by_view: dict[str, Sequence[CheckResult]] = {
        view: [result for result in results if result.table in tables[view]] for view in refreshed
    }
    for report in reports:
        for view in {refresh.view for refresh in report.refreshed}:
            by_view[view] = [*by_view[view], *_judged_results(settings, feed, view, report.judged)]
    return by_view


def check_gold(
    settings: Settings,
    feed: Feed,
    view: GoldView,
    names: Collection[str],
    keys: Sequence[str],
    lend: LendSpark | None = None,
) -> list[CheckResult]:
    """Evaluate checks and expectations of a view over its rows as they are stored.

    Rows that an expectation drops are not there any more, so it finds none.

    Raises:
        LakeAssetsError: a check does not fit, or Spark or the lake cannot be used.
    """
    checks = [check for check in view.checks if check.name in names]
    request = Asked(gold={view.name: checks}, gold_keys={view.name: keys})
    results = run_checks(settings, feed, request, lend)
    tables = {feed.gold_table(view, key): key for key in keys}
    handles = {t: h for t in tables if (h := open_table(lake_of(settings), t)) is not None}
    chosen = tuple(e for e in view.expectations if e.name in names)
    if not chosen or not handles:
        return results
    with session_for(settings, lend) as session:
        counted = recount(session, view.model_copy(update={"expectations": chosen}), handles)
    judged = {
        (tables[table], name): counts
        for table, by_name in counted.items()
        for name, counts in by_name.items()
    }
    return results + _judged_results(settings, feed, view.name, judged)


def _judged_results(
    settings: Settings, feed: Feed, view: str, judged: Mapping[tuple[str, str], Judged]
) -> list[CheckResult]:
    """What expectations of a view came to, in the form that its checks have."""
    (declared,) = (gold_view for gold_view in feed.gold if gold_view.name == view)
    by_name = {e.name: e for e in declared.expectations}
    tables = {key: feed.gold_table(declared, key) for key, _ in judged}
    handles = {key: open_table(lake_of(settings), table) for key, table in tables.items()}
    results = []
    for (key, name), counts in judged.items():
        expectation, handle = by_name[name], handles[key]
        is_error = expectation.action is Action.FAIL
        results.append(
            CheckResult(
                key=key,
                table=tables[key],
                name=name,
                severity=Severity.ERROR if is_error else Severity.WARN,
                passed=not counts.violated,
                found=float(counts.violated),
                limit=expectation.sql,
                words=f"{counts.violated} of {counts.seen} rows violate it",
                version=handle.version() if handle else None,
            )
        )
    return results
