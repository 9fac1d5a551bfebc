"""What of a Dagster instance is this lake's: runs by their tag, keys by their set of partitions.

An instance may serve several code locations, other teams' and other lakes' too. Tags, limits on
tags and sets of partitions belong to all of it, so each carries the lake's id and is looked up by
it. Jobs, sensors and schedules belong to their code location and need none.
"""

from collections.abc import Sequence

import dagster as dg

from lake_assets.defs.keys import key_partitions
from lake_assets.delta.catalog import keys_of
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of
from lake_assets.supervision.facts import Phase

LAKE = "lake_assets/lake"
"""Tag of every run that works on a lake; its value is the lake's id."""

PHASES = {
    dg.DagsterRunStatus.QUEUED: Phase.WAITING,
    dg.DagsterRunStatus.NOT_STARTED: Phase.LAUNCHING,
    dg.DagsterRunStatus.STARTING: Phase.LAUNCHING,
    dg.DagsterRunStatus.STARTED: Phase.RUNNING,
    dg.DagsterRunStatus.CANCELING: Phase.CANCELING,
}
"""Of runs that are not finished, how far they have come."""

UNFINISHED = tuple(PHASES)


def lake_tags(lake: str) -> dict[str, str]:
    """Tags of a run that works on this lake."""
    return {LAKE: lake}


def runs_of(
    lake: str, statuses: Sequence[dg.DagsterRunStatus], *, job_name: str | None = None
) -> dg.RunsFilter:
    """The lake's runs with one of these statuses; of all its jobs, or of one."""
    return dg.RunsFilter(job_name=job_name, statuses=list(statuses), tags=lake_tags(lake))


def runs_in(instance: dg.DagsterInstance, filters: dg.RunsFilter) -> Sequence[dg.DagsterRun]:
    """The runs that a filter lets pass, the newest first."""
    return [record.dagster_run for record in instance.get_run_records(filters)]


def is_under_way(instance: dg.DagsterInstance, lake: str, job_name: str) -> bool:
    """Whether a run of one of the lake's jobs is not finished."""
    return bool(instance.get_run_records(runs_of(lake, UNFINISHED, job_name=job_name), limit=1))


def known_keys(
    instance: dg.DagsterInstance, settings: Settings, feed: Feed, lake: str
) -> Sequence[str]:
    """The feed's keys as Dagster knows them, those among them that it did not know until now."""
    return add_keys(instance, feed, lake, keys_of(lake_of(settings), feed))


def add_keys(
    instance: dg.DagsterInstance, feed: Feed, lake: str, keys: Sequence[str]
) -> Sequence[str]:
    """Make these keys partitions, as far as they are none yet; returns all that there are."""
    name = str(key_partitions(feed, lake).name)
    known = instance.get_dynamic_partitions(name)
    new = [key for key in keys if key not in set(known)]
    if new:
        instance.add_dynamic_partitions(name, new)
    return [*known, *new]
