"""What a job of demux left: the files of each table, and what expectations said of each key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.errors import ExpectationFailedError
from lake_assets.model.reports import Judged
from lake_assets.model.tables import TableRef
from lake_assets.silver.apply_expectations import Outcome
from lake_assets.spark.fan_out import Written


@dataclass(frozen=True, kw_only=True, slots=True)
class Demuxed:
    """What a job left behind, for the committer."""

    written: Mapping[TableRef, Written]
    """Tables that got no row are absent."""

    outcomes: Mapping[str, Outcome]
    """By key; keys without rows are absent."""

    columns: tuple[pa.Schema, ...] = ()
    """Of silver's files, where other feeds fill the tables as well and may change these."""

    duplicates: Mapping[str, int] = field(default_factory=dict)
    """By key, rows that were taken out again since they are duplicates."""

    @property
    def judged(self) -> dict[tuple[str, str], Judged]:
        """By key and expectation."""
        return {
            (key, name): judged
            for key, outcome in self.outcomes.items()
            for name, judged in outcome.judged.items()
        }


def joined(parts: Sequence[Demuxed]) -> Demuxed:
    """What several jobs left, for one commit a table."""
    files: dict[TableRef, list[DataFile]] = {}
    for part in parts:
        for table, written in part.written.items():
            files.setdefault(table, []).extend(written.files)
    return Demuxed(
        written={table: Written(files=table_files) for table, table_files in files.items()},
        outcomes={},
        columns=tuple(columns for part in parts for columns in part.columns),
    )


def failure(violated: Mapping[tuple[str, str], Judged]) -> ExpectationFailedError:
    """The error of what `Job.failures` found."""
    (key, name), judged = next(iter(violated.items()))
    examples = ", ".join(str(origin) for origin in judged.examples)
    fact = f"{judged.violated} of {judged.seen} rows of the batch violate it, such as {examples}"
    if len(violated) > 1:
        fact += f"; and so it is with {len(violated) - 1} more"
    return ExpectationFailedError(name, key, fact)
