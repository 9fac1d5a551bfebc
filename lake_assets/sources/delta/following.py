"""Following a table by its log: files that came get the next offsets in the feed's index.

A version's files are added to the index in one commit, before anything of them is read. A version
that added none is noted by an entry without rows, so that the log may be swept up to there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, written_at
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.log_tail import actions_of, file_of, newest_version
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError, SourceError, SourceNotFoundError, first_line
from lake_assets.model.delta_source import DeltaSource
from lake_assets.parquet.read_file import opened
from lake_assets.sources.delta.versions import FileOrigin, appended, committed_ms
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Entry, rows_of_index
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.storage.local import LocalStore
from lake_assets.storage.store import Store
from lake_assets.storage.uri import LakeUri

_FILES = 5_000
"""Files, about, that are added to the index at once."""

_MARK_ROWS = 100_000
"""Rows between two places of a file where a batch may end."""


_LAST_MS = (2**63 - 1) // 1_000_000
"""The last time that nanoseconds of 64 bits have, in milliseconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """How far an index is."""

    table: str
    version: int


def log_of_source(source: DeltaSource) -> TableLog:
    """The log of the table that is read."""
    return TableLog(LocalStore.at(Path(source.path)), LakeUri.local(Path(source.path)))


def reached(lake: Store, feed: str) -> Reached | None:
    """How far the index of a feed is; None if it has nothing.

    Raises:
        LakeError: the index cannot be read.
        SourceError: it is of files that the feed read before.
    """
    last = None
    for rows in rows_of_index(lake, feed, ("first", "counted_as")):
        # Later versions have later offsets; of those with the same, all are looked at.
        latest = rows.filter(pc.equal(rows["first"], pc.max(rows["first"])))
        for text in latest["counted_as"].to_pylist():
            told = FileOrigin.of(text or "")
            if told is None:
                fact = "has an index of another source than a Delta table"
                raise SourceError(f"feed {feed!r}", fact, "Give the new source a feed of its own")
            if last is None or told.version > last.version:
                last = Reached(table=told.table, version=told.version)
    return last


def open_source(source: DeltaSource, lake: Store, known: Reached | None) -> DeltaTable:
    """The table at its newest version, if it can be read and is the one that was read before.

    Raises:
        SourceNotFoundError: there is none.
        SourceError: it is a table of this lake, another one, or cannot be read.
        TableFeatureError: it has features that are not supported here.
    """
    if lake.root.is_local and Path(source.path).is_relative_to(lake.root.as_path()):
        fact = "is in this lake, and what a feed writes it must not read again"
        raise SourceError(source.title, fact, "Derive tables of the lake by gold views")
    try:
        handle = log_of_source(source).open()
    except TableNotFoundError:
        raise SourceNotFoundError(source.title, "is not there", "Create it") from None
    except DeltaError as problem:
        fact = f"cannot be opened ({first_line(problem)})"
        raise SourceError(source.title, fact, "See to the table") from problem
    ensure_usable(handle, Use.READ)
    table, version = str(handle.metadata().id), handle.version()
    if known is not None and table != known.table:
        fact = f"is another table (id {table}) than was read so far ({known.table})"
        raise SourceError(source.title, fact, "Give the new table a feed of its own")
    if known is not None and version < known.version:
        fact = f"is at version {version}, and was read up to {known.version} already"
        raise SourceError(source.title, fact, "Put back the newest copy of the table")
    return handle


class Following:
    """Finds what came to the table, and adds it to the index; of one query."""

    def __init__(self, source: DeltaSource, lake: Store, index: FileIndex, feed: str) -> None:
        """Open the table; raises as `open_source` and `reached`."""
        self._source, self._lake, self._index = source, lake, index
        self._known = reached(lake, feed)
        self._log = log_of_source(source)
        self._handle = open_source(source, lake, self._known)

    def step(self) -> bool:
        """Add what came next; False if nothing did.

        Raises:
            SourceError: rows were deleted or changed, or the log has a version no more.
            LakeError: the lake cannot be written, or the table not read.
        """
        if self._known is None and self._source.starting_version is None:
            self._add([*self._snapshot()])
            return True
        first, newest = self._next, self._newest()
        entries: list[Entry] = []
        version = first
        try:
            while version <= newest and len(entries) < _FILES:
                entries += self._entries(version, entries[-1].end if entries else self._index.end)
                version += 1
        except (SourceError, LakeError):
            # What came before it is good, and read first.
            if version == first:
                raise
        if version > first:
            self._add(entries, version - 1)
        return version > first

    def _newest(self) -> int:
        """The table's newest version; where there is another than before, the table is opened."""
        try:
            newest = newest_version(self._log)
        except FileNotFoundError:
            newest = -1
        if self._known is None or newest != self._known.version:
            self._handle = open_source(self._source, self._lake, self._known)
        return newest

    @property
    def _next(self) -> int:
        return (
            self._source.starting_version or 0 if self._known is None else self._known.version + 1
        )

    @property
    def _table(self) -> str:
        return str(self._handle.metadata().id)

    def _add(self, entries: list[Entry], version: int | None = None) -> None:
        version = self._handle.version() if version is None else version
        told = FileOrigin.of(entries[-1].counted_as) if entries else None
        if told is None or told.version < version:
            end = entries[-1].end if entries else self._index.end
            mark = FileOrigin(table=self._table, version=version, partition={})
            file = Found("", 0, 0)
            entries = [*entries, Entry(file=file, first=end, lines=0, counted_as=mark.text)]
        self._index.add(entries)
        self._known = Reached(table=self._table, version=version)

    def _snapshot(self) -> Iterator[Entry]:
        """All files that the table has now."""
        if kept_rows(self._handle):
            fact = "has deletion vectors, and is to be read as a whole"
            step = f"Run REORG TABLE delta.`{self._source.path}` APPLY (PURGE) in Spark"
            raise SourceError(self._source.title, fact, step)
        end = self._index.end
        files = zip(active_files(self._handle), written_at(self._handle), strict=True)
        for file, at in sorted(files, key=lambda one: (one[1], one[0].path)):
            yield (entry := self._entry(file, self._handle.version(), at, end))
            end = entry.end

    def _entries(self, version: int, end: int) -> list[Entry]:
        """The files that a version added, from an offset on."""
        source = self._source
        try:
            actions = list(actions_of(self._log, version))
        except FileNotFoundError:
            fact = f"has version {version} no more in its log, which was not read yet"
            step = "Run `lake-assets rebuild bronze`, which reads the table as it is now"
            if source.starting_version is not None:
                step = "Declare a `starting_version` that the log has; then run `rebuild bronze`"
            raise SourceError(source.title, fact, step) from None
        except ValueError as problem:
            fact = f"has a torn commit, version {version}"
            raise SourceError(source.title, fact, "See to the table") from problem
        adds = appended(source.title, version, actions, skips_changes=source.skip_change_commits)
        try:
            files = [file_of(action) for action in adds]
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            fact = f"has a file in its version {version} that is told wrongly ({problem})"
            raise SourceError(source.title, fact, "See to the table") from problem
        at = committed_ms(actions)
        found = []
        for file, action in zip(files, adds, strict=True):
            stamp = action.get("modificationTime", 0) if at is None else at
            found.append(self._entry(file, version, stamp, end))
            end = found[-1].end
        return found

    def _entry(self, file: DataFile, version: int, at_ms: int, first: int) -> Entry:
        rows = file.rows if file.rows > 0 else self._counted(file)
        told = FileOrigin(
            table=self._table, version=version, partition=self._partition(file.partition, version)
        )
        at_ns = max(0, min(at_ms, _LAST_MS)) * 1_000_000  # whatever a foreign writer says
        return Entry(
            file=Found(file.path, file.size, at_ns),
            first=first,
            lines=rows,
            marks=tuple((row, 0) for row in range(_MARK_ROWS, rows, _MARK_ROWS)),
            counted_as=told.text,
        )

    def _counted(self, file: DataFile) -> int:
        """Rows of a file whose statistics do not tell them; one that says so if it has none."""
        try:
            place = self._log.data_file(file.path).as_path()
            with place.open("rb") as stream, opened(stream) as parquet:
                return int(parquet.metadata.num_rows)
        except (FileNotFoundError, pa.ArrowException):
            return 1  # whoever reads it finds why
        except OSError as problem:
            fact = f"has a file that cannot be read, {file.path} ({first_line(problem)})"
            raise SourceError(self._source.title, fact, "See to the table") from problem

    def _partition(self, values: Mapping[str, str | None], version: int) -> dict[str, Any]:
        """Values of partition columns, by the types that they have, or had at a version."""
        try:
            return self._typed(values, self._handle)
        except (KeyError, ValueError):
            try:
                return self._typed(values, self._log.open(version))
            except (DeltaError, KeyError, ValueError) as problem:
                fact = f"has partitions in version {version} that are not of its columns' types"
                raise SourceError(self._source.title, fact, "See to the table") from problem

    def _typed(self, values: Mapping[str, str | None], table: DeltaTable) -> dict[str, Any]:
        kinds = pa.schema(table.schema().to_arrow()) if values else pa.schema([])
        binary = [name for name in values if kinds.field(name).type == pa.binary()]
        if binary:
            fact = f"is partitioned by {binary[0]}, of type binary, which is not supported here"
            raise SourceError(self._source.title, fact, "Partition it by another column")
        return {
            name: partition_value(kinds.field(name).type, text)
            for name, text in values.items()
            if text
        }


def partition_value(kind: pa.DataType, text: str) -> Any:  # noqa: ANN401
    """A partition's value in a log, as a row's JSON has it."""
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_boolean(kind):
        return text == "true"
    if pa.types.is_floating(kind):
        return float(text) if text.lstrip("-").lower() not in {"nan", "infinity"} else text
    if pa.types.is_timestamp(kind):
        return text.replace(" ", "T")
    return text
