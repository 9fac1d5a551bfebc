"""Fan-out: one Spark job that writes rows into any number of tables' folders. Commits nothing.

The files it leaves are invisible until the committer (`delta.committer`) makes them part of a
table.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.delta.commit import DataFile
from lake_assets.parquet.writer import Target, WritePlan, notes_of, write_task

MANIFEST_DDL = (
    "target int, path string, size bigint, rows bigint, stats string, "
    "partition string, unresolved string, note string"
)
"""`parquet.writer.MANIFEST`, as Spark has it."""


class UnresolvedError(Exception):
    """Rows raised questions that the driver must answer before the batch can be written.

    Not an error of the user's: whoever builds the plan answers and runs the batch again.
    """

    def __init__(self, questions: frozenset[str]) -> None:
        """Keep the distinct questions."""
        super().__init__(", ".join(sorted(questions)))
        self.questions = questions


class RowTransform(Protocol):
    """Makes the rows to write of what Spark hands over, created again in each writing task."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn what Spark hands over into the rows to write."""

    def notes(self) -> Iterable[str]:
        """What the driver should know of this task, once all rows have passed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What one job left for one target of its plan."""

    files: list[DataFile] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows in the files."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, kw_only=True, slots=True)
class FanOut:
    """What one job left."""

    written: Mapping[int, Written]
    """By index of the target; targets without rows are absent."""

    notes: tuple[str, ...] = ()
    """Of all tasks, in no order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """Rows that a job writes."""

    plan: WritePlan
    """Where each row goes, and with which columns."""

    transform: Callable[[], RowTransform]
    """Makes these rows, in the writing tasks."""


def fan_out(
    rows: DataFrame, plan: WritePlan, transform: Callable[[], RowTransform] | None = None
) -> FanOut:
    """Write `rows` to the folders of `plan.targets` in one job.

    Args:
        rows: the layouts' columns; `#table int` (index of the target); if rows may raise questions,
            `#unresolved string`.
        plan: where each row goes, and with which columns.
        transform: makes these rows, in the writing tasks, from what Spark hands over.

    Raises:
        UnresolvedError: some rows raised questions; nothing is left of the job.
    """

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if transform is None:
            yield from write_task(batches, plan)
            return
        last_hand = transform()
        yield from write_task(last_hand(batches), plan)
        yield notes_of(last_hand.notes())

    manifest = rows.mapInArrow(write, MANIFEST_DDL).toArrow().to_pylist()
    written = files_by_target(manifest, plan)
    questions = frozenset(e["unresolved"] for e in manifest if e["unresolved"] is not None)
    if questions:
        discard(written, plan)
        raise UnresolvedError(questions)
    notes = tuple(e["note"] for e in manifest if e["note"] is not None)
    return FanOut(written=written, notes=notes)


def discard(written: Mapping[int, Written], plan: WritePlan) -> None:
    """Delete the files of a job that will not be committed."""
    for index, output in written.items():
        for file in output.files:
            plan.store.delete(plan.targets[index].folder / file.path)


def files_by_target(manifest: Iterable[Mapping[str, Any]], plan: WritePlan) -> dict[int, Written]:
    """By index of the target, the files that a job's manifest names."""
    files: dict[int, list[DataFile]] = defaultdict(list)
    for entry in manifest:
        index = entry["target"]
        if index is None:
            continue
        files[index].append(
            DataFile(
                path=entry["path"],
                size=entry["size"],
                rows=entry["rows"],
                stats=entry["stats"],
                partition=_partition_of(entry, plan.targets[index]),
            )
        )
    return {index: Written(files=data_files) for index, data_files in files.items()}


def _partition_of(entry: Mapping[str, Any], target: Target) -> dict[str, str | None]:
    """Of a file: what its task said, or what the whole batch of the target has."""
    if entry["partition"] is not None:
        told: dict[str, str | None] = json.loads(entry["partition"])
        return told
    name, _, value = target.partition.partition("=")
    return {name: value} if name else {}
