"""The sensor `alerts`: tells the core what is wrong by Dagster's records and by the lake.

What of it is news, and who is told, the core decides; see `lake_assets/alerts`.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.alerts.check_problems import CheckFailure, check_subject
from lake_assets.alerts.forecasts import ForecastFacts
from lake_assets.alerts.lake_problems import LakeSeen
from lake_assets.alerts.observer import Observer
from lake_assets.alerts.problems import Death, StreamsPatience, StreamsSeen
from lake_assets.alerts.run_problems import RunSeen
from lake_assets.alerts.sensor_cursor import Watch
from lake_assets.defs.check_failures import details, watched_checks
from lake_assets.defs.gold import schedule_name
from lake_assets.defs.internals.asset_checks import (
    check_results,
    last_evaluation,
)
from lake_assets.defs.internals.instigators import last_tick, repository_of, turned_off
from lake_assets.defs.keys import gold_key, name_of, named
from lake_assets.defs.lake_scope import is_under_way
from lake_assets.defs.lazy_imports import (
    behind_since,
    go_round,
    horizon_of,
    locate,
    look_ahead,
    look_at_lake,
)
from lake_assets.defs.rotation import SUPERVISOR
from lake_assets.defs.supervision import observe
from lake_assets.defs.triggered import job_name
from lake_assets.defs.triggered import schedule_name as triggered_schedule
from lake_assets.errors import ServiceError
from lake_assets.model.alerts import AlertSeverity
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.tables import in_words
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.run_notes import note_wanted, run_note_of
from lake_assets.state.stream_stops import stops_of
from lake_assets.supervision.facts import Ending, Observed
from lake_assets.supervision.far_streams import runs_elsewhere
from lake_assets.supervision.machine import policy_of

if TYPE_CHECKING:
    from lake_assets.alerts.alert_round import Round

_SEVERITIES = {
    dg.AssetCheckSeverity.WARN: AlertSeverity.WARNING,
    dg.AssetCheckSeverity.ERROR: AlertSeverity.ERROR,
}

_EACH_MINUTE = "* * * * *"


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The sensor."""
    loaded_at, lake = time.monotonic(), lake_id(settings)

    @dg.sensor(
        name=named(settings, "alerts"),
        minimum_interval_seconds=10,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Tells once when a check fails, the streams die, stall or wait, a refresh is missed, a "
            "feed stops at a poisoned batch or rows were lost, and once when that is over: to the "
            "log, and to the webhook and the mail server of the settings. What a sink does not "
            "take waits for it."
        ),
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now, utc_now = time.monotonic(), time.time()
        watch = Watch.from_json(context.cursor)
        watch = watch.wake(now, utc_now, boot=boot_id(), loaded_at=loaded_at)
        watch = replace(watch, last_at=now, last_utc=utc_now)
        reader = DagsterReader(settings, feeds, lake, context, watch)
        grace_s = settings.alerts.refresh_grace_s
        patience, horizon = _patience(settings), horizon_of(settings)
        observer = Observer(reader, watch, patience, horizon, grace_s=grace_s)
        done = go_round(settings, observer.look, context.log)
        complaints = "; ".join((*observer.complaints, *done.complaints)) if done else watch.said
        if done and complaints and complaints != watch.said:
            context.log.warning("%s", complaints)
        return dg.SensorResult(
            skip_reason=_summary(done, complaints),
            cursor=replace(observer.watch, said=complaints).to_json(),
        )

    return dg.Definitions(sensors=[alerts])


def _summary(done: "Round | None", said: str) -> str:
    if done is None:
        return "Another process is at this lake's alerts"
    count = done.open_problems
    problems = "Nothing is wrong" if not count else f"{count} problem(s), told of when they began"
    return f"{problems}. {said}" if said else problems


class DagsterReader:
    """Reads what Dagster and the lake have on record, at one moment: see `FactReader`."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        lake: str,
        context: dg.SensorEvaluationContext,
        watch: Watch,
    ) -> None:
        """Prepare to read, at the moment of `watch.last_at`; nothing is asked yet."""
        self._settings = settings
        self._feeds = feeds
        self._lake = lake
        self._context = context
        self._instance = context.instance
        self._watch = watch
        self._checks: dict[str, tuple[dg.AssetCheckKey, str | None]] = {}

    @cached_property
    def _turned_off(self) -> frozenset[str]:
        return turned_off(self._instance, repository_of(self._context))

    def streams(self) -> StreamsSeen:
        """As the supervisor sees them."""
        watch, names = self._watch, [feed.feed for feed in supervised(self._feeds)]
        is_stopped = len(stops_of(self._settings.state_dir, names)) == len(names)
        now, utc_now, whose = watch.last_at, watch.last_utc, (self._instance, self._lake)
        observed = observe(self._settings, *whose, now=now, utc_now=utc_now)
        return StreamsSeen(
            now=watch.last_at,
            utc_now=watch.last_utc,
            awake_since=watch.awake_since,
            known_run=watch.known_run,
            is_wanted=named(self._settings, SUPERVISOR) not in self._turned_off and not is_stopped,
            is_locked=observed.is_locked or runs_elsewhere(observed),
            beat=observed.beat,
            is_beater_alive=observed.is_beater_alive,
            death=_death(observed),
            newest_run=observed.last_ended.run_id if observed.last_ended else "",
        )

    def checks(self) -> Mapping[str, bool | None]:
        """By asset, check and partition."""
        checks = watched_checks(self._context, self._settings, self._feeds)
        results = check_results(self._instance, checks)
        self._checks = {
            check_subject(name_of(check.asset_key), check.name, key): (check, key)
            for check, key in results
        }
        return dict(zip(self._checks, results.values(), strict=True))

    def check_failure(self, subject: str) -> CheckFailure | None:
        """The check's newest finished evaluation."""
        recorded = last_evaluation(self._instance, *self._checks[subject])
        if recorded is None:
            return None
        evaluation, at = recorded
        return CheckFailure(
            severity=_SEVERITIES[evaluation.severity], at=at, details=details(evaluation)
        )

    def lake(self) -> LakeSeen:
        """By the lake."""
        return look_at_lake(self._settings, self._feeds, self._watch.last_utc)

    def runs(self) -> Mapping[str, RunSeen] | None:
        """By what was noted of them, once they had the time of grace to catch up."""
        watch, grace_s = self._watch, self._settings.alerts.refresh_grace_s
        if watch.last_at - watch.awake_since < grace_s:
            return None
        triggered = (feed for feed in self._feeds if feed.schedule is not None)
        on = [
            feed
            for feed in triggered
            if triggered_schedule(self._settings, feed) not in self._turned_off
        ]
        return {feed.feed: self._run_seen(feed, watch.last_utc - grace_s) for feed in on}

    def _run_seen(self, feed: Feed, before: float) -> RunSeen:
        note = run_note_of(self._settings.state_dir, feed.feed)
        with suppress(OSError):  # a full disk, which is no reason to tell of nothing else
            note = note_wanted(self._settings.state_dir, feed.feed, self._watch.last_utc)
        since = note.wanted_since if note.complete_at is None else note.complete_at
        return RunSeen(
            tick=last_tick(str(feed.schedule), before),
            complete_at=self._watch.last_utc if since is None else since,
            failed_at=note.failed_at,
            why=note.why,
            is_under_way=is_under_way(self._instance, self._lake, job_name(self._settings, feed)),
        )

    def forecast(self) -> ForecastFacts | None:
        """By the lake and its brokers."""
        watch = self._watch
        return look_ahead(
            self._settings,
            self._feeds,
            self._endpoints(),
            self._every_s(),
            boot=watch.boot,
            now=watch.last_at,
            utc_now=watch.last_utc,
        )

    def _endpoints(self) -> Endpoints | None:
        try:
            return locate(self._settings, self._feeds)
        except ServiceError:
            return None  # an embedded one does not run, and so nothing is deleted

    def _every_s(self) -> dict[str, float]:
        """By view, seconds between its refreshes: those of its schedule, or else of the streams."""
        now = self._watch.last_utc
        paced = {
            f"{feed.feed}.{view.name}": view.refresh.total_seconds()
            for feed in self._feeds
            for view in feed.gold
            if view.refresh  # one that is live has no time between two
            and not feed.is_triggered
        }
        scheduled = {
            f"{feed.feed}.{view.name}": last - last_tick(view.schedule, last - 1)
            for feed in self._feeds
            for view in feed.gold
            if view.schedule and not view.refresh
            for last in [last_tick(view.schedule, now)]
        }
        return {**scheduled, **paced}

    def ticks(self) -> Mapping[str, float]:
        """By asset of a view."""
        before = self._watch.last_utc - self._settings.alerts.refresh_grace_s
        scheduled = {
            name_of(gold_key(self._settings, feed, view)): last_tick(view.schedule, before)
            for feed in self._feeds
            for view in feed.gold
            if view.schedule and schedule_name(self._settings, feed, view) not in self._turned_off
        }
        by_streams = {
            name_of(gold_key(self._settings, feed, view)): last_tick(
                _EACH_MINUTE, before - pace.total_seconds()
            )
            for feed in self._feeds
            for view in feed.gold
            # Those of a feed with a schedule are refreshed by its runs, and late with them.
            if (pace := view.refresh) is not None
            and not feed.is_triggered
            and named(self._settings, SUPERVISOR) not in self._turned_off
        }
        return {**scheduled, **by_streams}

    def behind_since(self) -> Mapping[str, Mapping[str, float]]:
        """By asset of a view."""
        return {
            name_of(gold_key(self._settings, feed, view)): {
                in_words(scope): at for scope, at in scopes.items()
            }
            for feed in self._feeds
            for scopes_by_view in [behind_since(self._settings, feed)]
            for view in feed.gold
            if (scopes := scopes_by_view.get(view.name))
        }


def _patience(settings: Settings) -> StreamsPatience:
    policy = policy_of(settings)
    return StreamsPatience(
        stall_after_s=policy.stall_after_s,
        silent_after_s=policy.silent_after_s,
        proven_after_s=settings.alerts.settle_s,
    )


def _death(observed: Observed) -> Death | None:
    ended = observed.last_ended
    if ended is None or ended.ending is not Ending.DIED:
        return None
    return Death(run_id=ended.run_id, at=ended.ended_at)
