"""Two fan-outs in one Spark job: the second takes the rows that the first has written.

A row is then read, and handed to Python, once. As `spark.fan_out`, it commits nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.parquet.writer import TaskWriter, WritePlan, notes_of
from lake_assets.spark.fan_out import MANIFEST_DDL, FanOut, Output, files_by_target

_PART = "part"
"""int: which of the two outputs a row of the manifest is of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoFanOuts:
    """What one job left."""

    first: FanOut
    second: FanOut
    questions: frozenset[str]
    """That rows of the second raised; then it has not all of its rows, and is to be discarded."""


def fan_out_twice(rows: DataFrame, first: Output, second: Output) -> TwoFanOuts:
    """Write `rows` by one output, and what that made of them by another, in one job.

    Args:
        rows: what the first output's transform takes; its rows raise no questions.
        first: written whole, whatever becomes of the second.
        second: its transform takes the rows that the first one's makes, in any number of calls.
    """
    plans = [_half(first.plan), _half(second.plan)]

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        transforms = [first.transform(), second.transform()]
        with TaskWriter(plans[0]) as one, TaskWriter(plans[1]) as other:
            for batch in batches:
                for rows_of_first in transforms[0]([batch]):
                    yield from _of(0, one.add(rows_of_first))
                    for rows_of_second in transforms[1]([rows_of_first]):
                        yield from _of(1, other.add(rows_of_second))
            for part, writer in enumerate((one, other)):
                yield from _of(part, writer.finish())
                yield from _of(part, [notes_of(transforms[part].notes())])

    ddl = f"{MANIFEST_DDL}, {_PART} int"
    manifest = rows.mapInArrow(write, ddl).toArrow().to_pylist()
    done = []
    for part, plan in enumerate(plans):
        entries = [entry for entry in manifest if entry[_PART] == part]
        notes = tuple(entry["note"] for entry in entries if entry["note"] is not None)
        done.append(FanOut(written=files_by_target(entries, plan), notes=notes))
    questions = frozenset(e["unresolved"] for e in manifest if e["unresolved"] is not None)
    return TwoFanOuts(first=done[0], second=done[1], questions=questions)


def _half(plan: WritePlan) -> WritePlan:
    """The same with half of the memory: both hold rows at once."""
    return replace(plan, buffer_bytes=plan.buffer_bytes // 2)


def _of(part: int, manifests: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for manifest in manifests:
        parts = pa.repeat(pa.scalar(part, pa.int32()), manifest.num_rows)
        yield manifest.append_column(_PART, parts)
