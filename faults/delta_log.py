"""A Delta table by the protocol's own text: its log replayed, its rows read; no library for Delta.

What a reader of the protocol's first version need not know is refused by name: deletion vectors,
column mapping, checkpoints in several kinds of files. A log with a hole is refused, too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from faults.places import FileThere, Place

LOG = "_delta_log"

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_OTHER_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\..*")

_LAST = "_last_checkpoint"

_READS_AT_ONCE = 8
"""A store answers in milliseconds, and small files are many."""

_OLD_ENOUGH = 1
"""The version of the protocol that this knows, of readers."""


class UnreadableError(Exception):
    """A table that cannot be read as the protocol's first version says."""


@dataclass(slots=True)
class Table:
    """A table as its log says it is."""

    name: str
    version: int = -1
    partition_columns: tuple[str, ...] = ()
    files: dict[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Of the newest version, by path, with their partitions' values."""

    named: set[str] = field(default_factory=set)
    """What any entry of the log names, also if it was removed since."""


def tables_in(files: Sequence[FileThere]) -> list[str]:
    """The folders that have a log."""
    marked = (one.path.partition(f"/{LOG}/") for one in files if f"/{LOG}/" in one.path)
    return sorted({folder for folder, _, _ in marked})


def is_of_log(path: str) -> bool:
    """Whether a file of a table is one that a log of the protocol has."""
    folder, _, name = path.rpartition("/")
    kinds = (_COMMIT, _CHECKPOINT)
    return folder == LOG and (name == _LAST or any(kind.fullmatch(name) for kind in kinds))


def replay(place: Place, name: str) -> Table:
    """Read a table's log from its newest checkpoint on.

    Raises:
        UnreadableError: it has what this does not know, or a hole.
        FileNotFoundError: a file of the log went while it was read.
    """
    found = [one.path.rpartition("/")[2] for one in place.files_below(f"{name}/{LOG}")]
    commits = {int(match[1]): match[0] for file in found if (match := _COMMIT.fullmatch(file))}
    checkpoints = _checkpoints(name, found)
    table = Table(name)
    newest = max(checkpoints, default=-1)
    if newest >= 0:
        for file in checkpoints[newest]:
            _take(table, _rows_of_checkpoint(place.read(f"{name}/{LOG}/{file}")))
        table.version = newest
    texts = _read_all(place, [f"{name}/{LOG}/{commits[version]}" for version in sorted(commits)])
    for version, text in zip(sorted(commits), texts, strict=True):
        actions = _actions(text)
        if version <= newest:
            # Older than the checkpoint: what it names is named, and nothing else.
            _take(Table(name, named=table.named), actions)
            continue
        if version != table.version + 1:
            raise UnreadableError(f"{name}: version {table.version + 1} is not in its log")
        _take(table, actions)
        table.version = version
    if table.version < 0:
        raise UnreadableError(f"{name}: its log is empty")
    return table


def _read_all(place: Place, paths: Sequence[str]) -> list[bytes]:
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        return [*pool.map(place.read, paths)]


def read(place: Place, table: Table, columns: Sequence[str]) -> pa.Table:
    """Some columns of the newest version's rows; one that a file lacks is null in it.

    Raises:
        FileNotFoundError: a file that the log names is not there.
    """
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        reading = (pool.submit(_rows, place, table, path, columns) for path in sorted(table.files))
        parts = [part.result() for part in [*reading]]
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})


def read_file(place: Place, path: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a data file, as far as it has them."""
    with pq.ParquetFile(place.full(path), filesystem=place.files) as file:
        has = [column for column in columns if column in file.schema_arrow.names]
        found: pa.Table = file.read(columns=has)
        return found


def _rows(place: Place, table: Table, path: str, columns: Sequence[str]) -> pa.Table:
    rows = read_file(place, f"{table.name}/{path}", columns)
    for column in columns:
        if column in rows.column_names:
            continue
        value = table.files[path].get(column) if column in table.partition_columns else None
        rows = rows.append_column(column, pa.array([value] * rows.num_rows, pa.string()))
    return rows.select(list(columns))


def _checkpoints(name: str, found: Sequence[str]) -> dict[int, list[str]]:
    """Whole ones, by version."""
    parts: dict[tuple[int, int], list[str]] = {}
    for file in found:
        match = _CHECKPOINT.fullmatch(file)
        if match is None:
            if _OTHER_CHECKPOINT.fullmatch(file):
                raise UnreadableError(f"{name}: {file} is a checkpoint of another kind")
            continue
        parts.setdefault((int(match[1]), int(match[3] or 1)), []).append(file)
    return {version: files for (version, many), files in parts.items() if len(files) == many}


def _actions(text: bytes) -> Iterator[dict[str, Any]]:
    yield from (json.loads(line) for line in text.splitlines() if line.strip())


def _rows_of_checkpoint(content: bytes) -> Iterator[dict[str, Any]]:
    kinds = ("protocol", "metaData", "add", "remove")
    with pq.ParquetFile(BytesIO(content)) as file:
        known = [kind for kind in kinds if kind in file.schema_arrow.names]
        for row in file.read(columns=known).to_pylist():
            yield {kind: value for kind, value in row.items() if value is not None}


def _take(table: Table, actions: Iterator[dict[str, Any]]) -> None:
    for action in actions:
        if (protocol := action.get("protocol")) is not None:
            _ensure_known(table.name, protocol)
        if (metadata := action.get("metaData")) is not None:
            table.partition_columns = tuple(metadata["partitionColumns"])
            mapping = dict(metadata.get("configuration") or {}).get("delta.columnMapping.mode")
            if mapping not in {None, "none"}:
                raise UnreadableError(f"{table.name}: its columns are mapped ({mapping})")
        if (add := action.get("add")) is not None:
            if add.get("deletionVector") is not None:
                raise UnreadableError(f"{table.name}: it has deletion vectors")
            path = unquote(add["path"])
            table.files[path] = dict(add.get("partitionValues") or {})
            table.named.add(path)
        if (remove := action.get("remove")) is not None:
            path = unquote(remove["path"])
            table.files.pop(path, None)
            table.named.add(path)


def _ensure_known(name: str, protocol: Mapping[str, Any]) -> None:
    version = protocol["minReaderVersion"]
    features = protocol.get("readerFeatures") or []
    if version > _OLD_ENOUGH:
        raise UnreadableError(f"{name}: it asks its readers for version {version} {features}")
