"""How many tasks run at once: of a laptop its cores, of a cluster what executors have, or may have.

Into how many tasks work is cut is its caller's (`streams.triggers`).
"""

import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession

from lake_assets.errors import RuntimeSetupError
from lake_assets.spark.jvm import executors_of, property_of, seconds_of
from lake_assets.spark.masters import local_cores

_WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"
"""Spark's own word for how long it waits for executors."""

_WAIT_USUALLY = "30s"
"""Spark's own default of it."""

_LOOK_EVERY_S = 0.1

_GROWTH = 2
"""Times the slots that there are, where executors come as tasks wait for them, without a bound."""


def is_one_jvm(session: SparkSession) -> bool:
    """Whether tasks run in the driver's own JVM."""
    return local_cores(str(session.sparkContext.master)) is not None


def task_slots(session: SparkSession) -> int:
    """Tasks that run at once, or would if all executors were there that may come.

    Changes while a session of a cluster lives. With dynamic allocation Spark asks for executors
    only if tasks wait, so that whoever cuts work by what is there never gets more.
    """
    there = session.sparkContext.defaultParallelism
    if is_one_jvm(session) or property_of(session, "spark.default.parallelism"):
        return there
    return max(there, promised_slots(partial(property_of, session), there))


def promised_slots(properties: Callable[[str], str | None], there: int) -> int:
    """Slots that a session's properties promise; 0 if they say nothing. Pure.

    Args:
        properties: one by its name.
        there: slots that there are now.
    """

    def number(name: str, default: int = 0) -> int:
        return int(properties(name) or default)

    cpus = number("spark.task.cpus", 1)
    per_executor = max(1, number("spark.executor.cores", 1) // cpus)
    if properties("spark.dynamicAllocation.enabled") == "true":
        most = number("spark.dynamicAllocation.maxExecutors")
        return most * per_executor if most else there * _GROWTH
    of_instances = number("spark.executor.instances") * per_executor
    return of_instances or number("spark.cores.max") // cpus


def wait_for_executor(session: SparkSession) -> None:
    """Wait for the first executor of a cluster: without one, jobs wait for ever and in silence.

    Raises:
        RuntimeSetupError: none came in time (`spark.scheduler.maxRegisteredResourcesWaitingTime`).
    """
    if is_one_jvm(session):
        return
    if property_of(session, "spark.dynamicAllocation.enabled") == "true":
        return  # they come with tasks
    limit_s = seconds_of(session, _WAIT, _WAIT_USUALLY)
    deadline = time.monotonic() + limit_s
    while not executors_of(session):
        if time.monotonic() > deadline:
            fact = f"{session.sparkContext.master} gave no executor within {limit_s} s"
            step = (
                "Look at the master's page for free cores and memory (`spark.executor.memory`), "
                f"and at its workers' logs; {_WAIT} says how long to wait"
            )
            raise RuntimeSetupError("Spark", fact, step)
        time.sleep(_LOOK_EVERY_S)
