"""Every access to what PySpark keeps to itself: Spark's parser and plans in the JVM, Arrow schemas.

Nothing here decides; each function is one access, tried on PySpark 4.2.0. A release that moves one
fails `test_jvm`, which names it. The daemon of Spark's Python workers is `spark.daemon`'s.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema as _from_arrow
from pyspark.sql.pandas.types import to_arrow_schema as _to_arrow
from pyspark.sql.types import StructType


def has_started() -> bool:
    """Whether Spark runs in this process, whichever thread started it."""
    return SparkContext._active_spark_context is not None  # noqa: SLF001


def stop_what_started() -> None:
    """End an application that came up, and whose session did not; nothing if there is none."""
    context = SparkContext._active_spark_context  # noqa: SLF001
    if context is not None:
        context.stop()


def set_hadoop_properties(session: SparkSession, properties: Mapping[str, str]) -> None:
    """Set properties of Hadoop's file systems, which those that are opened later heed."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    for name, value in properties.items():
        hadoop.set(name, value)


def property_of(session: SparkSession, name: str) -> str | None:
    """A property that the session's application was started with."""
    found: str | None = session.sparkContext._conf.get(name)  # noqa: SLF001
    return found


def seconds_of(session: SparkSession, name: str, default: str) -> int:
    """A duration among them, such as `30s`, in seconds."""
    conf = session.sparkContext._jsc.sc().conf()  # noqa: SLF001
    return int(conf.getTimeAsSeconds(name, default))


def executors_of(session: SparkSession) -> int:
    """How many executors there are that are not the driver itself."""
    infos = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()  # noqa: SLF001
    return len(infos) - 1


def sql_parser(session: SparkSession) -> Any:  # noqa: ANN401 - an object of the JVM
    """Spark's parser, a `ParserInterface`: expressions as trees that are not resolved yet."""
    return session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001


def analyzed_plan(frame: DataFrame) -> Any:  # noqa: ANN401 - an object of the JVM
    """A query's `LogicalPlan` with names and types resolved.

    Raises:
        pyspark.errors.AnalysisException: it does not compile.
    """
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001


def optimized_plan(frame: DataFrame) -> Any:  # noqa: ANN401 - an object of the JVM
    """A query's `LogicalPlan` after Spark's optimizer; raises as `analyzed_plan`."""
    return frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001


def each(found: Any) -> Iterator[Any]:  # noqa: ANN401 - a collection of Scala's
    """Its elements."""
    left = found.iterator()
    while left.hasNext():
        yield left.next()


def optimizer_rule(session: SparkSession, name: str) -> Any:  # noqa: ANN401 - an object of the JVM
    """A rule of `org.apache.spark.sql.catalyst.optimizer`, whose `apply` takes a plan."""
    return getattr(getattr(_catalyst(session).optimizer, f"{name}$"), "MODULE$")


def asks_for_current(session: SparkSession, plan: Any) -> bool:  # noqa: ANN401
    """Whether a plan has what stands for one query, such as `current_timestamp()`."""
    pattern = _catalyst(session).trees.TreePattern.CURRENT_LIKE()
    return bool(plan.containsPattern(pattern))


def spark_schema(columns: pa.Schema) -> StructType:
    """Arrow's columns as Spark's; raises `PySparkTypeError` for a type that Spark lacks."""
    return _from_arrow(columns)


def arrow_schema(columns: StructType) -> pa.Schema:
    """Spark's columns as Arrow's; instants are in UTC, as our tables have them."""
    return _to_arrow(columns, timezone="UTC")


def _catalyst(session: SparkSession) -> Any:  # noqa: ANN401 - a package of the JVM
    return session._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]  # noqa: SLF001
