"""One look at what is wrong: asks a reader for facts and has them judged in `alerts.problems`.

Who knows the facts is an argument; Dagster's reader is `defs.alerts`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from lake_assets.alerts.check_problems import CheckFailure, check_problem, judge_checks
from lake_assets.alerts.decide import Look, Tracked
from lake_assets.alerts.forecasts import ForecastFacts, Horizon, judge_forecasts
from lake_assets.alerts.lake_problems import LakeSeen, judge_lake
from lake_assets.alerts.problems import (
    StreamsPatience,
    StreamsSeen,
    judge_refreshes,
    judge_streams,
    unclear_problems,
)
from lake_assets.alerts.run_problems import RunSeen, judge_runs
from lake_assets.alerts.sensor_cursor import Watch, is_gold_due
from lake_assets.errors import LakeAssetsError
from lake_assets.model.alerts import (
    FORECAST_KINDS,
    LAKE_KINDS,
    RUN_KINDS,
    Problem,
    ProblemKey,
    ProblemKind,
)


class FactReader(Protocol):
    """Tells the facts of one moment; each is asked for at most once a look."""

    def streams(self) -> StreamsSeen:
        """What is known of the streams."""
        ...

    def checks(self) -> Mapping[str, bool | None]:
        """By subject, whether a check passed; None where no current result tells."""
        ...

    def check_failure(self, subject: str) -> CheckFailure | None:
        """What is on record of a check that `checks` told to fail; None if nothing is."""
        ...

    def ticks(self) -> Mapping[str, float]:
        """By view, the newest tick of its schedule whose grace is over, in seconds since 1970.

        Views that the streams refresh tick each minute. Those whose schedule or whose supervisor is
        turned off, or that have none, are left out.
        """
        ...

    def lake(self) -> LakeSeen:
        """What the lake's own tables and state folder tell.

        Raises:
            LakeAssetsError: the lake cannot be read.
        """
        ...

    def runs(self) -> Mapping[str, RunSeen] | None:
        """By feed that has a schedule which is on; None if it is too early to judge them."""
        ...

    def forecast(self) -> ForecastFacts | None:
        """What forecasts are made of; None if it is not time for them.

        Raises:
            LakeAssetsError: the lake cannot be read.
        """
        ...

    def behind_since(self) -> Mapping[str, Mapping[str, float]]:
        """By view, and by key in words, since when its silver has had what the view lacks.

        Raises:
            LakeAssetsError: the lake cannot be read.
        """
        ...


class Observer:
    """Looks at checks, streams, and at gold when that is due."""

    def __init__(
        self,
        reader: FactReader,
        watch: Watch,
        patience: StreamsPatience,
        horizon: Horizon,
        *,
        grace_s: float,
    ) -> None:
        """Prepare to look, once: at the moment of `watch.last_at`.

        Args:
            reader: of the facts.
            watch: when was looked.
            patience: when streams count as ill and as well.
            horizon: how far ahead forecasts look.
            grace_s: how long a refresh may take after its tick.
        """
        self._reader = reader
        self._patience = patience
        self._horizon = horizon
        self._grace_s = grace_s
        self.watch = watch
        """When was looked; kept up to date by `look`."""
        self.complaints: tuple[str, ...] = ()
        """In words, what could not be looked at."""

    def look(self, tracked: Sequence[Tracked]) -> Look:
        """What is wrong now, given which problems are open."""
        known = {entry.problem.key: entry.problem for entry in tracked}
        seen = self._reader.streams()
        self.watch = replace(self.watch, known_run=seen.newest_run)
        streams = judge_streams(seen, {kind for kind, _ in known}, self._patience)
        checks = judge_checks(self._reader.checks(), known)
        new = [
            check_problem(subject, self._reader.check_failure(subject), self.watch.last_utc)
            for subject in checks.new
        ]
        missed, of_lake = self._missed_refreshes(known), self._problems_of_lake()
        expected, late = self._expected(known), self._late_runs()
        unclear = unclear_problems(known, streams, is_gold_seen=missed is not None)
        by_kinds = ((LAKE_KINDS, of_lake), (FORECAST_KINDS, expected), (RUN_KINDS, late))
        for kinds, found in by_kinds:
            if found is None:
                unclear |= {key for key in known if key[0] in kinds}
        return Look(
            now=self.watch.last_at,
            utc_now=self.watch.last_utc,
            boot=self.watch.boot,
            problems=(
                *([streams.problem] if streams.problem else ()),
                *(missed or ()),
                *(of_lake or ()),
                *(expected or ()),
                *(late or ()),
                *checks.known,
                *new,
            ),
            unclear=checks.unclear | unclear,
        )

    def _problems_of_lake(self) -> list[Problem] | None:
        """What the lake itself tells; None where it cannot be read."""
        try:
            return judge_lake(self._reader.lake())
        except LakeAssetsError as problem:
            self.complaints += (str(problem),)
            return None

    def _expected(self, known: Mapping[ProblemKey, Problem]) -> list[Problem] | None:
        """What is to come; None where nobody looked."""
        try:
            facts = self._reader.forecast()
        except LakeAssetsError as problem:
            self.complaints += (str(problem),)
            return None
        return None if facts is None else judge_forecasts(facts, known.keys(), self._horizon)

    def _late_runs(self) -> list[Problem] | None:
        """Problems of feeds with a schedule; None where nobody looked."""
        runs = self._reader.runs()
        return None if runs is None else judge_runs(runs, self.watch.last_utc)

    def _missed_refreshes(self, known: Mapping[ProblemKey, Problem]) -> list[Problem] | None:
        """Problems of scheduled views; None where nobody looked."""
        now, ticks = self.watch.last_at, self._reader.ticks()
        is_open = any(kind is ProblemKind.REFRESH_MISSED for kind, _ in known)
        ticked = [now - (self.watch.last_utc - tick) for tick in ticks.values()]
        if not is_gold_due(self.watch, now, grace_s=self._grace_s, ticks=ticked, is_open=is_open):
            return None
        self.watch = replace(self.watch, gold_at=now)
        try:
            return judge_refreshes(ticks, self._reader.behind_since())
        except LakeAssetsError as problem:
            self.complaints += (str(problem),)
            return None
