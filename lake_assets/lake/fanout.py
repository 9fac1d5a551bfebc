"""Fan-out: one Spark job that writes rows into any number of tables' folders. Commits nothing.

The files it leaves are invisible until the commit door (`lake.commits`) makes them part of a table.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.lake.commits import DataFile
from lake_assets.lake.writer import WritePlan, write_task

_MANIFEST_DDL = (
    "target int, path string, size bigint, rows bigint, stats string, "
    "seen bigint, tallies array<bigint>, unresolved string"
)


class UnresolvedError(Exception):
    """Rows raised questions that the driver must answer before the batch can be written.

    Not an error of the user's: whoever builds the plan answers and runs the batch again.
    """

    def __init__(self, questions: frozenset[str]) -> None:
        """Keep the distinct questions."""
        super().__init__(", ".join(sorted(questions)))
        self.questions = questions


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What one job left for one target of its plan."""

    files: list[DataFile] = field(default_factory=list)
    seen: int
    """Rows that named this target, kept or not."""

    tallies: Mapping[str, int]
    """Rows by tally column that was true."""

    @property
    def rows(self) -> int:
        """Rows in the files."""
        return sum(file.rows for file in self.files)


def fan_out(rows: DataFrame, plan: WritePlan) -> dict[int, Written]:
    """Write `rows` to the folders of `plan.targets` in one job.

    Args:
        rows: the layouts' columns; `#table int` (index of the target); if rows may be tallied and
            yet not written, `#keep boolean`; if rows may raise questions, `#unresolved string`; and
            the boolean columns that `plan.tallies` names.
        plan: where each row goes, and with which columns.

    Returns:
        By index of the target; targets that no row named are absent.

    Raises:
        UnresolvedError: some rows raised questions; nothing is left of the job.
    """

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return write_task(batches, plan)

    manifest = rows.mapInArrow(write, _MANIFEST_DDL).toArrow().to_pylist()
    questions = frozenset(e["unresolved"] for e in manifest if e["unresolved"] is not None)
    by_target: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for entry in manifest:
        if entry["unresolved"] is None:
            by_target[entry["target"]].append(entry)
    written = {index: _written(index, found, plan) for index, found in by_target.items()}
    if questions:
        discard(written, plan)
        raise UnresolvedError(questions)
    return written


def discard(written: Mapping[int, Written], plan: WritePlan) -> None:
    """Delete the files of a job that will not be committed."""
    for index, found in written.items():
        for file in found.files:
            Path(plan.targets[index].path, file.path).unlink(missing_ok=True)


def _written(index: int, entries: list[dict[str, Any]], plan: WritePlan) -> Written:
    partition = plan.targets[index].partition
    key, _, value = partition.partition("=")
    files = [
        DataFile(
            path=entry["path"],
            size=entry["size"],
            rows=entry["rows"],
            stats=entry["stats"],
            partition={key: value} if partition else {},
        )
        for entry in entries
        if entry["path"] is not None
    ]
    sums = [sum(column) for column in zip(*(e["tallies"] for e in entries), strict=True)]
    return Written(
        files=files,
        seen=sum(e["seen"] for e in entries),
        tallies=dict(zip(plan.tallies, sums, strict=True)),
    )
