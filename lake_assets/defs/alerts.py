"""The sensor `alerts`: tells the core what is wrong by Dagster's records and by the lake.

What of it is news, and who is told, the core decides; see `lake_assets/alerts`.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from lake_assets.alerts.alert_round import Round, go_round
from lake_assets.alerts.decide import Look, Tracked
from lake_assets.alerts.problems import (
    Death,
    StreamsPatience,
    StreamsSeen,
    Verdict,
    check_subject,
    judge_refresh,
    judge_streams,
)
from lake_assets.alerts.sensor_cursor import Watch, is_gold_due
from lake_assets.defs.gold import schedule_name
from lake_assets.defs.internals.asset_checks import check_results, last_evaluation
from lake_assets.defs.internals.instigators import last_tick, repository_of, turned_off
from lake_assets.defs.keys import gold_key
from lake_assets.defs.supervision import SENSOR as SUPERVISOR
from lake_assets.defs.supervision import observe
from lake_assets.errors import LakeAssetsError
from lake_assets.gold.status import behind_since
from lake_assets.model.alerts import (
    STREAM_KINDS,
    STREAMS,
    AlertSeverity,
    Problem,
    ProblemKey,
    ProblemKind,
)
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import in_words
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.supervision.facts import Ending, Observed
from lake_assets.supervision.machine import policy_of

_SEVERITIES = {
    dg.AssetCheckSeverity.WARN: AlertSeverity.WARNING,
    dg.AssetCheckSeverity.ERROR: AlertSeverity.ERROR,
}

_DETAILS_AT_MOST = 200
"""Characters of a check's numbers in an alert."""


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The sensor."""
    loaded_at, lake = time.monotonic(), lake_id(settings.state_dir)

    @dg.sensor(
        name="alerts",
        minimum_interval_seconds=10,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Tells once when a check fails, the streams die, stall or wait, or a refresh is missed "
            "and once when that is over: to the log, and to the webhook and the mail server of the "
            "settings. What a sink does not take waits for it."
        ),
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now, utc_now = time.monotonic(), time.time()
        watch = Watch.from_json(context.cursor)
        watch = watch.wake(now, utc_now, boot=boot_id(), loaded_at=loaded_at)
        watch = replace(watch, last_at=now, last_utc=utc_now)
        eyes = Eyes(settings, feeds, lake, context, watch)
        done = go_round(settings, eyes.look, context.log)
        said = "; ".join((*eyes.complaints, *done.complaints)) if done else eyes.watch.said
        if done and said and said != watch.said:
            context.log.warning("%s", said)
        return dg.SensorResult(
            skip_reason=_summary(done, said),
            cursor=replace(eyes.watch, said=said).to_json(),
        )

    return dg.Definitions(sensors=[alerts])


def _summary(done: Round | None, said: str) -> str:
    if done is None:
        return "Another process is at this lake's alerts"
    count = done.open_problems
    problems = "Nothing is wrong" if not count else f"{count} problem(s), told of when they began"
    return f"{problems}. {said}" if said else problems


class Eyes:
    """Sees what is wrong at one moment."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        lake: str,
        context: dg.SensorEvaluationContext,
        watch: Watch,
    ) -> None:
        """Prepare to look, once: at the moment of `watch.last_at`."""
        self._settings = settings
        self._feeds = feeds
        self._lake = lake
        self._instance = context.instance
        self._repository = repository_of(context)
        graph = context.repository_def.asset_graph if context.repository_def else None
        self._checks = sorted(graph.asset_check_keys) if graph else []
        self._now = watch.last_at
        self._utc_now = watch.last_utc
        self.watch = watch
        """When was looked; kept up to date by `look`."""
        self.complaints: tuple[str, ...] = ()
        """In words, what could not be looked at."""

    def look(self, tracked: Sequence[Tracked]) -> Look:
        """Look at checks, streams, and at gold when that is due."""
        known = {entry.problem.key: entry.problem for entry in tracked}
        off = turned_off(self._instance, self._repository)
        verdict = self._streams(known, is_wanted=SUPERVISOR not in off)
        failing, unclear = self._failing_checks(known)
        missed = self._missed_refreshes(known, off)
        if missed is None:
            unclear |= {key for key in known if key[0] is ProblemKind.REFRESH_MISSED}
        if not verdict.is_clear:
            unclear |= {(kind, STREAMS) for kind in STREAM_KINDS}
        streams = [verdict.problem] if verdict.problem else []
        problems = (*streams, *(missed or ()), *failing)
        return Look(
            now=self._now,
            utc_now=self._utc_now,
            boot=self.watch.boot,
            problems=problems,
            unclear=frozenset(unclear),
        )

    def _streams(self, known: dict[ProblemKey, Problem], *, is_wanted: bool) -> Verdict:
        observed = observe(
            self._settings, self._instance, self._lake, now=self._now, utc_now=self._utc_now
        )
        policy = policy_of(self._settings)
        verdict = judge_streams(
            StreamsSeen(
                now=self._now,
                utc_now=self._utc_now,
                awake_since=self.watch.awake_since,
                known_run=self.watch.known_run,
                is_wanted=is_wanted,
                is_locked=observed.is_locked,
                beat=observed.beat,
                is_beater_alive=observed.is_beater_alive,
                death=_death(observed),
            ),
            {kind for kind, _ in known},
            StreamsPatience(
                stall_after_s=policy.stall_after_s,
                silent_after_s=policy.silent_after_s,
                proven_after_s=self._settings.alerts.settle_s,
            ),
        )
        newest = observed.last_ended.run_id if observed.last_ended else ""
        self.watch = replace(self.watch, known_run=newest)
        return verdict

    def _failing_checks(
        self, known: dict[ProblemKey, Problem]
    ) -> tuple[list[Problem], set[ProblemKey]]:
        """Problems of checks, and those that no current result tells of."""
        failing, unclear = [], set()
        for (check, key), passed in check_results(self._instance, self._checks).items():
            subject = check_subject(check.asset_key.to_user_string(), check.name, key)
            problem = (ProblemKind.CHECK_FAILED, subject)
            if passed is None:
                unclear.add(problem)
            elif not passed:
                failing.append(known.get(problem) or self._check_problem(check, key, subject))
        return failing, unclear

    def _check_problem(self, check: dg.AssetCheckKey, key: str | None, subject: str) -> Problem:
        found = last_evaluation(self._instance, check, key)
        evaluation, at = found or (None, self._utc_now)
        return Problem(
            kind=ProblemKind.CHECK_FAILED,
            subject=subject,
            severity=_SEVERITIES[evaluation.severity] if evaluation else AlertSeverity.WARNING,
            since=at,
            details=_details(evaluation) if evaluation else "",
        )

    def _missed_refreshes(
        self, known: dict[ProblemKey, Problem], off: frozenset[str]
    ) -> list[Problem] | None:
        """Problems of scheduled views; None where nobody looked."""
        grace_s = self._settings.alerts.refresh_grace_s
        ticks = {
            (feed.feed, view.name): last_tick(view.schedule, self._utc_now - grace_s)
            for feed in self._feeds
            for view in feed.gold
            if view.schedule and schedule_name(feed, view) not in off
        }
        is_open = any(kind is ProblemKind.REFRESH_MISSED for kind, _ in known)
        ticked = [self._now - (self._utc_now - tick) for tick in ticks.values()]
        if not is_gold_due(self.watch, self._now, grace_s=grace_s, ticks=ticked, is_open=is_open):
            return None
        self.watch = replace(self.watch, gold_at=self._now)
        try:
            return [
                problem
                for feed in self._feeds
                for view, scopes in behind_since(self._settings, feed).items()
                if (behind := {in_words(scope): since for scope, since in scopes.items()})
                if (tick := ticks.get((feed.feed, view)))
                and (problem := judge_refresh(_asset(feed, view), tick=tick, behind=behind))
            ]
        except LakeAssetsError as problem:
            self.complaints += (str(problem),)
            return None


def _asset(feed: Feed, view_name: str) -> str:
    view = next(view for view in feed.gold if view.name == view_name)
    return gold_key(feed, view).to_user_string()


def _death(observed: Observed) -> Death | None:
    ended = observed.last_ended
    if ended is None or ended.ending is not Ending.DIED:
        return None
    return Death(run_id=ended.run_id, at=ended.ended_at)


def _details(evaluation: dg.AssetCheckEvaluation) -> str:
    facts = (
        f"{name.replace('_', ' ')}: {_shown(value)}"
        for name, value in evaluation.metadata.items()
        if isinstance(value.value, int | float | str)
    )
    return ", ".join(facts)[:_DETAILS_AT_MOST]


def _shown(value: dg.MetadataValue) -> str:
    if isinstance(value, dg.TimestampMetadataValue):
        return f"{datetime.fromtimestamp(value.value, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return str(value.value)
