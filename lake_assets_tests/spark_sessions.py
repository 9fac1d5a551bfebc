"""The Spark session of tests' own process: it lives on where a command would end it, and compiles
no queries.

A command that runs in this process ends its Spark, as it should. To start the next one, and Python
workers with all that they import, costs more than most tests do with it. Processes that tests start
have Spark as users have it.
"""

from functools import cache

from pyspark.sql import SparkSession

from lake_assets.runtime.setup import Runtime, ensure_runtime
from lake_assets.settings.schema import RuntimeSettings, Settings
from lake_assets.spark.session import properties

_really_stop = SparkSession.stop
_really_get = SparkSession.Builder.getOrCreate

_INTERPRETED = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
"""Spark makes a Java class of each new plan, which for a few rows takes longer than evaluating it:
a fifth of these tests' processor time, most of it for the logs of Delta tables. Spark's own tests
hold what is evaluated against what is compiled (`CodegenInterpretedPlanTest`)."""

_OF_THE_JVM = {"spark.driver.memory", "spark.driver.extraJavaOptions", "spark.jars"}
"""What a session that starts in a JVM takes from it, whatever it is told."""

_OF_NO_MATTER = {"spark.sql.warehouse.dir", "spark.sql.shuffle.partitions"}
"""Each home has its own warehouse, and no table is in it; the other is set anew by who finds a
session."""

_made_with: dict[str, dict[str, str]] = {}
"""Properties by the application's id."""


def get_interpreted(builder: SparkSession.Builder) -> SparkSession:
    """In place of `SparkSession.Builder.getOrCreate`: a session that evaluates expressions."""
    for key, value in _INTERPRETED.items():
        builder = builder.config(key, value)
    return _really_get(builder)


def leave_running(session: SparkSession) -> None:
    """In place of `SparkSession.stop`: end what it does, as its end would."""
    for query in session.streams.active:
        query.stop()
    session.sparkContext.cancelAllJobs()


def note_properties(session: SparkSession, settings: Settings) -> None:
    """Remember what a session was made with, unless it was made before."""
    _made_with.setdefault(session.sparkContext.applicationId, _properties(settings))


def stop_another(settings: Settings) -> None:
    """Stop the session that there is, unless it was made with the same properties."""
    session = SparkSession.getActiveSession()
    if session is None:
        return
    made_with = _made_with.get(session.sparkContext.applicationId)
    if made_with != _properties(settings):
        _really_stop(session)


def _properties(settings: Settings) -> dict[str, str]:
    found = properties(settings, _runtime(settings.runtime.model_dump_json()))
    return {key: found[key] for key in found.keys() - _OF_THE_JVM - _OF_NO_MATTER}


@cache
def _runtime(runtime_settings: str) -> Runtime:
    runtime = RuntimeSettings.model_validate_json(runtime_settings)
    return ensure_runtime(Settings(runtime=runtime))
