"""A Spark session that only analyses SQL: the lake's own where its jars are, else Spark alone.

Nothing is fetched for it, and no store is reached: a check must not need either.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import SecretStr
from pyspark.sql import SparkSession

from lake_assets.runtime.jars import is_here
from lake_assets.runtime.java import find_java
from lake_assets.runtime.setup import Runtime, ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.spark.jvm import has_started
from lake_assets.spark.session import start_session

_ALONE = {
    "spark.sql.extensions": "",
    "spark.sql.catalog.spark_catalog": "builtin",
}
"""In place of Delta's, whose jars may not be here; no function of SQL is Delta's."""


@contextmanager
def analyser(settings: Settings) -> Iterator[SparkSession]:
    """The session; one that runs in this process already stays.

    Raises:
        RuntimeSetupError: there is no Java, or Spark does not start.
    """
    is_own = not has_started()
    session = start_session(*_what_for(settings))
    try:
        yield session
    finally:
        if is_own:
            session.stop()


def _what_for(settings: Settings) -> tuple[Settings, Runtime]:
    """The settings and what is on this machine; a lake in a bucket is not reached for."""
    if settings.lake_root.is_local and is_here("spark", settings.runtime):
        return settings, ensure_runtime(settings)
    conf = {**settings.spark.conf, **{name: SecretStr(text) for name, text in _ALONE.items()}}
    spark = settings.spark.model_copy(update={"conf": conf, "master": "local[1]"})
    alone = settings.model_copy(update={"spark": spark, "lake": settings.home / "lake"})
    return alone, Runtime(java=find_java(settings.runtime.cache), spark_jars=())
