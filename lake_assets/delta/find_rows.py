"""Finding rows without an engine: files pruned by the log's bounds, the few left over read.

What a row means, and which table to look into, is the caller's business.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.deletion_vectors import Mask, kept_rows, without_deleted
from lake_assets.delta.log_tail import actions_of, path_of
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError, first_line
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.read_file import INT96_UNIT
from lake_assets.storage.store import Store

_SLACK_MS = 1000
"""Milliseconds that a commit's file may look older than the time that was noted in it: file systems
round, and clocks of a mounted one differ a little."""


_PLAIN = re.compile(r"[A-Za-z0-9-]+")
"""What is in a log as it is in a name, however the rest is encoded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Addition:
    """The commit that made a file part of its table."""

    version: int
    is_exact: bool
    """False if the log no longer has the commit: it is this version's or an older one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRow:
    """One row and where it lies."""

    file: LakeUri
    row: Mapping[str, Any]
    added: Addition


def find_rows(
    log: TableLog, handle: DeltaTable, key: Mapping[str, object], columns: Sequence[str]
) -> list[FoundRow]:
    """All rows whose columns have the values of `key`.

    Args:
        log: of the table.
        handle: the table, at the version to look at.
        key: columns that the table has, none of them a partition column, and their values.
        columns: what else to read of each row; null of files that lack it.

    Raises:
        LakeError: a file cannot be read.
        TableFeatureError: the table cannot be read here.
    """
    features_of(handle).ensure(Use.READ)
    kept = kept_rows(log, handle)
    matches = []
    for path, modified_ms in _candidates(handle, key):
        file = log.data_file(path)
        rows = _read(log.store, file, key, columns, kept.get(file))
        if rows:
            added = _addition(log, path, modified_ms)
            matches += [FoundRow(file=file, row=row, added=added) for row in rows]
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
        yield unquote(file["path"]), file["modification_time"]


def _read(
    lake: Store,
    file: LakeUri,
    key: Mapping[str, object],
    columns: Sequence[str],
    kept: Mask | None,
) -> list[dict[str, Any]]:
    predicate = reduce(and_, (pc.field(name) == value for name, value in key.items()))
    # Whole where rows are deleted: their numbers count all rows of the file.
    filters = predicate if kept is None else None
    try:
        # Partitioning off: folders such as `day=...` would else become columns of the file.
        with lake.open_for_reading(file) as source, pq.ParquetFile(source) as opened:
            names = set(opened.schema_arrow.names)
        with lake.open_for_reading(file) as source:
            table = pq.read_table(
                source,
                columns=[*key, *(name for name in columns if name in names)],
                filters=filters,
                partitioning=None,
                coerce_int96_timestamp_unit=INT96_UNIT,
            )
    except (OSError, pa.ArrowException) as problem:
        raise LakeError(
            str(file),
            f"the table's log names it, and it cannot be read ({first_line(problem)})",
            "Restore the file, or the table as of an earlier version",
        ) from problem
    rows: list[dict[str, Any]] = without_deleted(table, kept).filter(predicate).to_pylist()
    return [{**dict.fromkeys(columns), **row} for row in rows]


def _addition(log: TableLog, path: str, modified_ms: int) -> Addition:
    """The oldest commit since `modified_ms` that added the file.

    The log has one file a commit, in the order of time, so the look begins near the right one.
    """
    stems = (name.removesuffix(".json") for name in log.names_from() if name.endswith(".json"))
    versions = [int(stem) for stem in stems if stem.isdecimal()]
    since_ms = modified_ms - _SLACK_MS
    first = bisect_left(versions, since_ms, key=lambda version: _committed_ms(log, version))
    # The rest, too: a clock that was set leaves commits that look older than those before.
    name = max(_PLAIN.findall(path.rpartition("/")[2]), key=len, default="").encode()
    for version in [*versions[first:], *reversed(versions[:first])]:
        with suppress(FileNotFoundError, ValueError):  # swept away meanwhile; torn
            # Most commits do not name it, and parsing one costs ten times a search in it.
            if name not in log.commit(version):
                continue
            for kind, action in actions_of(log, version):
                if kind == "add" and path_of(action) == path:
                    return Addition(version=version, is_exact=True)
    return Addition(version=versions[0] if versions else 0, is_exact=False)


def _committed_ms(log: TableLog, version: int) -> int:
    stat = log.store.stat(log.commit_file(version))
    return stat.modified_ns // 1_000_000 if stat else 0
