"""Finding rows without an engine: files pruned by the log's bounds, the few left over read.

What a row means, and which table to look into, is the caller's business.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.deletion_vectors import Mask, kept_rows, without_deleted
from lake_assets.delta.table_features import Use, features_of
from lake_assets.errors import LakeError, first_line

_SLACK_MS = 1000
"""Milliseconds that a commit's file may look older than the time that was noted in it: file systems
round, and clocks of a mounted one differ a little."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Addition:
    """The commit that made a file part of its table."""

    version: int
    is_exact: bool
    """False if the log no longer has the commit: it is this version's or an older one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRow:
    """One row and where it lies."""

    file: Path
    row: Mapping[str, Any]
    added: Addition


def find_rows(
    handle: DeltaTable, folder: Path, key: Mapping[str, object], columns: Sequence[str]
) -> list[FoundRow]:
    """All rows whose columns have the values of `key`.

    Args:
        handle: the table, at the version to look at.
        folder: where it lies.
        key: columns that the table has, none of them a partition column, and their values.
        columns: what else to read of each row.

    Raises:
        LakeError: a file cannot be read.
        TableFeatureError: the table cannot be read here.
    """
    features_of(handle).ensure(Use.READ)
    kept = kept_rows(handle)
    matches = []
    for path, modified_ms in _candidates(handle, key):
        rows = _read(folder / path, key, columns, kept.get(path))
        if rows:
            added = _addition(folder, path, modified_ms)
            matches += [FoundRow(file=folder / path, row=row, added=added) for row in rows]
    return matches


def _candidates(handle: DeltaTable, key: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    """Files that may have such rows, each with the time it was added; one without bounds may."""
    files = pa.table(handle.get_add_actions(flatten=True))
    for name, value in key.items():
        for bound, may_be in ((f"min.{name}", pc.less_equal), (f"max.{name}", pc.greater_equal)):
            if bound in files.column_names:
                scalar = pa.scalar(value, files[bound].type)
                files = files.filter(may_be(files[bound], scalar).fill_null(fill_value=True))
    for file in files.select(["path", "modification_time"]).to_pylist():
        yield file["path"], file["modification_time"]


def _read(
    path: Path, key: Mapping[str, object], columns: Sequence[str], kept: Mask | None
) -> list[dict[str, Any]]:
    predicate = reduce(and_, (pc.field(name) == value for name, value in key.items()))
    # Whole where rows are deleted: their numbers count all rows of the file.
    filters = predicate if kept is None else None
    try:
        # Partitioning off: folders such as `day=...` would else become columns of the file.
        table = pq.read_table(path, columns=[*key, *columns], filters=filters, partitioning=None)
    except (OSError, pa.ArrowException) as problem:
        raise LakeError(
            str(path),
            f"the table's log names it, and it cannot be read ({first_line(problem)})",
            "Restore the file, or the table as of an earlier version",
        ) from problem
    rows: list[dict[str, Any]] = without_deleted(table, kept).filter(predicate).to_pylist()
    return rows


def _addition(folder: Path, path: str, modified_ms: int) -> Addition:
    """The oldest commit since `modified_ms` that added the file.

    The log has one file a commit, in the order of time, so the look begins near the right one.
    """
    commits = sorted(c for c in (folder / "_delta_log").glob("*.json") if c.stem.isdigit())
    late_enough = [c for c in commits if _changed_ms(c) >= modified_ms - _SLACK_MS]
    for commit in late_enough:
        for line in commit.read_text().splitlines():
            action = json.loads(line) if path in line else {}
            if action.get("add", {}).get("path") == path:
                return Addition(version=int(commit.stem), is_exact=True)
    oldest = int(commits[0].stem) if commits else 0
    return Addition(version=oldest, is_exact=False)


def _changed_ms(path: Path) -> float:
    return path.stat().st_mtime * 1000
