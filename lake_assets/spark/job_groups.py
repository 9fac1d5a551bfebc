"""Spark jobs of one piece of work: known by a name, scheduled together, and cancelled together.

Spark keeps both by thread, so the thread that does the work enters the group.
"""

from contextlib import suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # comes with PySpark
from pyspark.sql import SparkSession

from lake_assets.spark.jvm import has_started


def enter_group(session: SparkSession, name: str, pool: str) -> None:
    """Let the jobs that this thread starts from now on belong to a group, and share a pool.

    Pools take turns at free task slots (`spark.scheduler.mode` is `FAIR`).
    """
    session.sparkContext.setJobGroup(name, name)
    session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)


def cancel_group(session: SparkSession, name: str) -> None:
    """Cancel the jobs of a group that run now; nothing happens once Spark has ended."""
    if has_started():
        with suppress(AttributeError, Py4JError):  # it ends just now
            session.sparkContext.cancelJobGroup(name)
