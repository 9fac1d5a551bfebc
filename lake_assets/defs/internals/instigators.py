"""Sensors and schedules as Dagster's daemon knows them: what a user turned off, when one ticked.

Nothing public tells what is off, when a cron expression last ticked, or lets a sensor go on after
the clock was set. Tried on Dagster 1.13.27.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

import dagster as dg
from dagster._core.definitions.selector import RepositorySelector
from dagster._core.remote_origin import RemoteInstigatorOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster._utils.schedules import get_latest_completed_cron_tick

_AHEAD_S = 5.0
"""Seconds that a tick may lie in the future: less than that passes by itself, and a tick that began
a moment ago must not be taken for one."""


def repository_of(context: dg.SensorEvaluationContext) -> str | None:
    """Names the code location and repository of a sensor; None in a context that has none."""
    origin, name = context.code_location_origin, context.repository_name
    if origin is None or name is None:
        return None
    selector = RepositorySelector(location_name=origin.location_name, repository_name=name)
    return str(selector.selector_id)


def turned_off(instance: dg.DagsterInstance, repository: str | None) -> frozenset[str]:
    """Names of the sensors and schedules that a user has turned off.

    Args:
        instance: knows of the sensors and schedules of all code locations.
        repository: as `repository_of`; None for all.
    """
    states = instance.all_instigator_state(
        repository_selector_id=repository, instigator_statuses={InstigatorStatus.STOPPED}
    )
    return frozenset(state.instigator_name for state in states)


def keep_off(
    instance: dg.DagsterInstance, repository: str | None, renamed: Mapping[str, str]
) -> None:
    """Leave those schedules off that a user turned off under a former name.

    The former name is forgotten, so a user who turns one on again has the last word.

    Args:
        instance: knows of the schedules of all code locations.
        repository: as `repository_of`; None for all.
        renamed: the name of today by the former one.
    """
    states = instance.all_instigator_state(
        repository_selector_id=repository, instigator_type=InstigatorType.SCHEDULE
    )
    known = {(state.repository_selector_id, state.instigator_name) for state in states}
    for state in states:
        name = renamed.get(state.instigator_name)
        if name is None or state.status is not InstigatorStatus.STOPPED:
            continue
        origin = RemoteInstigatorOrigin(state.origin.repository_origin, name)
        new = InstigatorState(origin, InstigatorType.SCHEDULE, state.status, state.instigator_data)
        # The daemon notes a schedule when it first sees it, usually before this.
        is_known = (state.repository_selector_id, name) in known
        put = instance.update_instigator_state if is_known else instance.add_instigator_state
        put(new)
        instance.delete_instigator_state(state.instigator_origin_id, state.selector_id)


def let_sensors_tick(
    instance: dg.DagsterInstance, run: dg.DagsterRun, *, now: float
) -> tuple[str, ...]:
    """Have those sensors of a run's code location ask again whose last tick lies in the future.

    Dagster's daemon waits until a sensor's interval has passed since its last tick by the clock of
    the wall: one that is set back by a day would keep every sensor still for a day.

    Args:
        instance: knows of the sensors of all code locations.
        run: whose code location; one that was started by no daemon has none.
        now: the time, in seconds since 1970.

    Returns:
        Their names.
    """
    origin = run.remote_job_origin
    if origin is None or instance.schedule_storage is None:  # an instance in memory has no daemon
        return ()
    states = instance.all_instigator_state(
        repository_selector_id=origin.repository_origin.get_selector_id(),
        instigator_type=InstigatorType.SENSOR,
    )
    names = []
    for state in states:
        data = state.instigator_data
        if isinstance(data, SensorInstigatorData) and _ticked_at(data) > now + _AHEAD_S:
            repaired = data._replace(last_tick_timestamp=now, last_tick_start_timestamp=now)
            instance.update_instigator_state(state.with_data(repaired))
            names.append(state.instigator_name)
    return tuple(names)


def has_ticked(
    instance: dg.DagsterInstance, run: dg.DagsterRun, name: str, *, now: float, within_s: float
) -> bool:
    """Whether a sensor of a run's code location is on and has ticked of late.

    Args:
        instance: knows of the sensors of all code locations.
        run: whose code location; one that was started by no daemon has none.
        name: of the sensor.
        now: the time, in seconds since 1970.
        within_s: how long ago counts as of late; a tick ahead of `now` by no more than that, too.
    """
    origin = run.remote_job_origin
    if origin is None or instance.schedule_storage is None:  # an instance in memory has no daemon
        return False
    states = instance.all_instigator_state(
        repository_selector_id=origin.repository_origin.get_selector_id(),
        instigator_type=InstigatorType.SENSOR,
    )
    return any(
        state.instigator_name == name
        and state.status is not InstigatorStatus.STOPPED
        and isinstance(state.instigator_data, SensorInstigatorData)
        and abs(now - _ticked_at(state.instigator_data)) <= within_s
        for state in states
    )


def _ticked_at(data: SensorInstigatorData) -> float:
    return max(data.last_tick_timestamp or 0.0, data.last_tick_start_timestamp or 0.0)


def last_tick(cron: str, before: float) -> float:
    """When a schedule last ticked, up to `before`; seconds since 1970, as Dagster reads crons."""
    at = datetime.fromtimestamp(before, UTC)
    return get_latest_completed_cron_tick(cron, at, None).timestamp()
