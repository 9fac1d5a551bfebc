"""The definitions of the declarative pipeline: N streaming tables and N materialized views.

As the programming guide of Spark Declarative Pipelines has it, "Creating Tables in For Loop". It
is run by `spark-pipelines` in a process of its own; starting that is `pipelines`' business.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.decoding import Shape, events

_EVENTS = "events"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a pipeline is made of; a JSON file between two processes."""

    kafka: str
    topic: str
    route: str
    games: Sequence[str]
    keys: Sequence[str]
    """Of the gold view."""

    measures: dict[str, str]
    """Of the gold view: SQL by column."""

    shape: Shape

    def write(self, path: Path) -> None:
        """Keep it in a file."""
        shape = {
            "message": self.shape.message,
            "descriptor_set": base64.b64encode(self.shape.descriptor_set).decode(),
            "columns": base64.b64encode(self.shape.columns.serialize()).decode(),
        }
        names = ("kafka", "topic", "route", "games", "keys", "measures")
        given = {name: getattr(self, name) for name in names}
        path.write_text(json.dumps({**given, "shape": shape}))

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` kept."""
        given = json.loads(path.read_text())
        shape = given.pop("shape")
        columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(shape["columns"])))
        descriptor_set = base64.b64decode(shape["descriptor_set"])
        return cls(**given, shape=Shape(shape["message"], descriptor_set, columns))


def declare(spark: SparkSession, plan: Plan) -> None:
    """Declare the tables; called where `spark-pipelines` reads a pipeline's definitions."""

    @dp.temporary_view(name=_EVENTS)
    def decoded() -> DataFrame:
        return events(spark, plan.kafka, plan.topic, plan.shape)

    for game in plan.games:
        _declare_game(spark, plan, game)


def _declare_game(spark: SparkSession, plan: Plan, game: str) -> None:
    silver = f"silver_{game}"

    @dp.table(name=silver)
    def streaming_table() -> DataFrame:
        return spark.readStream.table(_EVENTS).where(F.col(plan.route) == game)

    @dp.materialized_view(name=f"gold_{game}")
    def materialized_view() -> DataFrame:
        measures = [F.expr(sql).alias(name) for name, sql in plan.measures.items()]
        return spark.read.table(silver).groupBy(*plan.keys).agg(*measures)
