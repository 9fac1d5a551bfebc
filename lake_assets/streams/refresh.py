"""A gold refresh with its checks: what blocks a game is asked before, gold's own checks after.

All of it is one Spark session. How views are computed is `gold`'s business.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from lake_assets.checks.run import Asked, evaluate, run_checks
from lake_assets.gold.blocks import blocked_games
from lake_assets.gold.run import Around, refresh_views
from lake_assets.gold.status import views_behind
from lake_assets.lake.failing import Failures, Verdict, note_verdicts, read_failures
from lake_assets.lake.history import open_table
from lake_assets.model.checks import SilverCheck
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import CheckResult, RefreshReport
from lake_assets.model.tables import gold_of, silver_of
from lake_assets.settings.schema import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Refreshed:
    """What a refresh and its checks came to."""

    reports: Sequence[RefreshReport]
    """One a view."""

    silver_checks: Sequence[CheckResult] = ()
    """Blocking checks of the games that were about to be refreshed."""

    gold_checks: Mapping[str, Sequence[CheckResult]] = field(default_factory=dict)
    """By view, of the games that were."""


def refresh_gold(
    settings: Settings,
    feed: Feed,
    *,
    views: Sequence[str] | None = None,
    games: Sequence[str] | None = None,
    anew: bool = False,
) -> Refreshed:
    """Bring gold views up to date, except for games that a blocking expectation or check holds up.

    Args:
        settings: where the lake is.
        feed: whose views.
        views: their names; all by default.
        games: games to look at; all the lake knows by default.
        anew: compute all games again, also those whose silver did not change.

    Raises:
        FeedError: the feed has no such view or game, or a view or a check does not compile.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    asked: list[CheckResult] = []
    found: dict[str, Sequence[CheckResult]] = {}

    def before(session: SparkSession, wanted: Sequence[str]) -> Mapping[str, str]:
        blocked, results = _blocked(settings, feed, session, wanted)
        asked.extend(results)
        return blocked

    def after(session: SparkSession, reports: Sequence[RefreshReport]) -> None:
        found.update(_gold_checks(settings, feed, session, reports))

    around = Around(before=before, after=after)
    reports = refresh_views(settings, feed, views=views, games=games, anew=anew, around=around)
    return Refreshed(reports=reports, silver_checks=asked, gold_checks=found)


def check_silver(
    settings: Settings, feed: Feed, checks: Sequence[SilverCheck], games: Sequence[str]
) -> list[CheckResult]:
    """Evaluate checks of silver, and keep what fails for the next refresh.

    Raises:
        LakeAssetsError: a check does not fit, or Spark or the lake cannot be used.
    """
    results = run_checks(settings, feed, Asked(silver=checks, silver_games=games))
    _note(settings, feed, results)
    return results


def _blocked(
    settings: Settings, feed: Feed, session: SparkSession, games: Sequence[str]
) -> tuple[dict[str, str], list[CheckResult]]:
    lake = settings.lake_dir
    failures = read_failures(settings.state_dir, feed.feed)
    versions = {
        game: handle.version()
        for game in games
        if (handle := open_table(lake, silver_of(game))) is not None
    }
    checks = [check for check in feed.checks if check.blocking]
    results: list[CheckResult] = []
    if checks:
        behind = {game for found in views_behind(lake, feed, failures).values() for game in found}
        asked = Asked(silver=checks, silver_games=[game for game in versions if game in behind])
        results = evaluate(lambda: session, lake, feed, asked)
        failures = _note(settings, feed, results)
        # A commit since the look above would else make a failure seem to be of an older version.
        versions |= {one.game: one.version for one in results if one.version is not None}
    return blocked_games(feed, failures, versions), results


def _note(settings: Settings, feed: Feed, results: Iterable[CheckResult]) -> Failures:
    verdicts = [
        Verdict(
            game=one.game,
            name=one.name,
            severity=None if one.passed else one.severity,
            words=one.words,
            version=one.version,
        )
        for one in results
    ]
    return note_verdicts(settings.state_dir, feed.feed, verdicts, datetime.now(UTC))


def _gold_checks(
    settings: Settings, feed: Feed, session: SparkSession, reports: Sequence[RefreshReport]
) -> dict[str, Sequence[CheckResult]]:
    done = [one for report in reports for one in report.refreshed]
    refreshed = {
        view.name: [one.game for one in done if one.view == view.name] for view in feed.gold
    }
    asked = Asked(gold={view.name: view.checks for view in feed.gold}, gold_games=refreshed)
    results = evaluate(lambda: session, settings.lake_dir, feed, asked)
    return {
        view: [one for one in results if one.table == gold_of(one.game, view)] for view in refreshed
    }
