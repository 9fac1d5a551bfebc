"""Expectations on the rows of gold views: judged in the refresh's own job, before its commits.

Spark SQL marks the rows, and the writing tasks act on the marks and count. A view's row has no raw
message that quarantine could keep, so it is warned of, dropped, or fails the refresh.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.errors import ExpectationFailedError, FeedError
from lake_assets.model.expectations import Action
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Judged
from lake_assets.model.tables import STATE, TableRef
from lake_assets.parquet.writer import TABLE
from lake_assets.spark.conditions import holds
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.read_tables import read_tables


def marked(rows: DataFrame, view: GoldView) -> DataFrame:
    """The rows and, for each expectation, a boolean column that says whether they violate it.

    Raises:
        FeedError: an expectation does not compile against the view's columns.
    """
    columns = [name for name in rows.columns if not name.startswith(("#", STATE))]
    for expectation in view.expectations:
        try:
            rows = rows.withColumn(_mark(expectation.name), ~holds(expectation.sql))
        except AnalysisException as problem:
            raise FeedError(
                f"expectation {expectation.name!r} of gold view {view.name!r}",
                f"does not compile ({spark_words(problem)})",
                f"Correct its sql; the columns are {', '.join(columns)}",
            ) from problem
    return rows


def unviolated(rows: DataFrame, view: GoldView) -> DataFrame:
    """As `marked`, of rows that were judged when they came into the view: none violates any."""
    marks = (F.expr("false").alias(_mark(e.name)) for e in view.expectations)
    return rows.select("*", *marks)


class GoldJudge:
    """A `spark.fan_out.RowTransform`: counts violations, and leaves out what is dropped."""

    def __init__(self, view: GoldView, keys: Sequence[str]) -> None:
        """Judge rows whose `#table` is an index into `keys`, which may name one more than once."""
        self._view = view
        self._keys = keys
        self._seen: dict[int, int] = defaultdict(int)
        self._violated: dict[tuple[int, str], int] = defaultdict(int)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows to write."""
        for batch in batches:
            yield self._act(batch)

    def notes(self) -> Iterable[str]:
        """One JSON object, for `judged_of`."""
        violations = [[index, name, n] for (index, name), n in self._violated.items()]
        return [json.dumps([list(self._seen.items()), violations])]

    def _act(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        places = batch[TABLE].to_numpy(zero_copy_only=False)
        for index, count in zip(*np.unique(places, return_counts=True), strict=True):
            self._seen[int(index)] += int(count)
        dropped = np.zeros(batch.num_rows, dtype=np.bool_)
        for expectation in self._view.expectations:
            violated = batch[_mark(expectation.name)].to_numpy(zero_copy_only=False).copy()
            concerned = [expectation.concerns(key) for key in self._keys]
            violated &= np.array(concerned, dtype=np.bool_)[places]
            for index, count in zip(*np.unique(places[violated], return_counts=True), strict=True):
                self._violated[int(index), expectation.name] += int(count)
            if expectation.action is Action.DROP:
                dropped |= violated
        nothing = pa.scalar(None, batch[TABLE].type)
        table = pc.if_else(pa.array(dropped), nothing, batch[TABLE])
        return batch.set_column(batch.schema.get_field_index(TABLE), TABLE, table)


def judged_of(
    notes: Iterable[str], view: GoldView, keys: Sequence[str]
) -> dict[tuple[str, str], Judged]:
    """By key and expectation, what the notes of all tasks say; keys without rows too."""
    seen: dict[str, int] = defaultdict(int)
    violated: dict[tuple[str, str], int] = defaultdict(int)
    for note in notes:
        rows, violations = json.loads(note)
        for index, count in rows:
            seen[keys[index]] += count
        for index, name, count in violations:
            violated[keys[index], name] += count
    return {
        (key, expectation.name): Judged(seen=seen[key], violated=violated[key, expectation.name])
        for key in dict.fromkeys(keys)
        for expectation in view.expectations
        if expectation.concerns(key)
    }


def ensure_none_fails(judged: dict[tuple[str, str], Judged], view: GoldView) -> None:
    """Refuse what an expectation that fails was violated by.

    Raises:
        ExpectationFailedError: there is such a key.
    """
    failing = {e.name for e in view.expectations if e.action is Action.FAIL}
    for (key, name), counts in judged.items():
        if name in failing and counts.violated:
            words = f"{counts.violated} of {counts.seen} rows of view {view.name} violate it"
            raise ExpectationFailedError(name, key, words)


def recount(
    session: SparkSession, view: GoldView, handles: Mapping[TableRef, DeltaTable]
) -> dict[TableRef, dict[str, Judged]]:
    """By table and expectation, how the view's rows fare as they are stored; one Spark job.

    Tables without rows are left out.

    Raises:
        FeedError: an expectation does not compile against the view's columns.
    """
    rows = marked(read_tables(session, list(handles.values()), named="#of"), view)
    counts = [F.count_if(f"`{_mark(e.name)}`").alias(_mark(e.name)) for e in view.expectations]
    counted = rows.groupBy("#of").agg(F.count(F.lit(1)).alias("#seen"), *counts).collect()
    by_name = {row["#of"]: row for row in counted}
    return {
        table: {
            e.name: Judged(
                seen=by_name[table.name]["#seen"], violated=by_name[table.name][_mark(e.name)]
            )
            for e in view.expectations
        }
        for table in handles
        if table.name in by_name
    }


def _mark(name: str) -> str:
    return f"#violates_{name}"
