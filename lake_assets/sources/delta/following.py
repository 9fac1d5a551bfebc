"""Following a table by its log: files that came get the next offsets in the feed's index.

A version's files are added to the index in one commit, before anything of them is read. A version
that added none is noted by an entry without rows, so that the log may be swept up to there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, written_at
from lake_assets.delta.deletion_vectors import has_deleted_rows
from lake_assets.delta.log_tail import actions_of, file_of, newest_version
from lake_assets.errors import LakeError, SourceError, first_line
from lake_assets.model.delta_source import DeltaSource
from lake_assets.parquet.read_file import opened
from lake_assets.sources.delta.source_table import (
    Reached,
    log_of_source,
    open_source,
    reached,
    records_changes,
)
from lake_assets.sources.delta.versions import (
    DELETE,
    INSERT,
    Actions,
    FileOrigin,
    appended,
    changed,
    committed_ms,
)
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.storage.store import Store

_FILES = 5_000
"""Files, about, that are added to the index at once."""

_MARK_ROWS = 100_000
"""Rows between two places of a file where a batch may end."""


_LAST_MS = (2**63 - 1) // 1_000_000
"""The last time that nanoseconds of 64 bits have, in milliseconds since 1970."""


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
        if has_deleted_rows(self._handle):
            fact = "has deletion vectors, and is to be read as a whole"
            step = f"Run REORG TABLE delta.`{self._source.path}` APPLY (PURGE) in Spark"
            raise SourceError(self._source.title, fact, step)
        end = self._index.end
        files = zip(active_files(self._handle), written_at(self._handle), strict=True)
        for file, at in sorted(files, key=lambda one: (one[1], one[0].path)):
            change = INSERT if self._source.read == "changes" else ""
            yield (entry := self._entry(file, self._handle.version(), at, end, change))
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
        came = self._came(version, actions)
        try:
            files = [
                file_of({"size": 0, **action} if change == DELETE else action)
                for action, change in came
            ]
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            fact = f"has a file in its version {version} that is told wrongly ({problem})"
            raise SourceError(source.title, fact, "See to the table") from problem
        at = committed_ms(actions)
        found = []
        for file, (action, change) in zip(files, came, strict=True):
            stamp = action.get("modificationTime", 0) if at is None else at
            found.append(self._entry(file, version, stamp, end, change))
            end = found[-1].end
        return found

    def _came(self, version: int, actions: Actions) -> list[tuple[Mapping[str, Any], str]]:
        """What a version has to read, and what changes of rows that is."""
        title = self._source.title
        if self._source.read == "appends":
            skips = self._source.skip_change_commits
            adds = appended(title, version, actions, skips_changes=skips)
            return [(action, "") for action in adds]
        came = changed(title, version, actions, is_recorded=lambda: self._records(version))
        is_partitioned = bool(self._handle.metadata().partition_columns)
        if is_partitioned and any(action.get("partitionValues") is None for action, _ in came):
            fact = f"does not tell in its version {version} of which partitions files went"
            raise SourceError(title, fact, "`rebuild bronze` begins with the table as it is")
        return came

    def _records(self, version: int) -> bool:
        """Whether the table's changes of rows were recorded at a version."""
        try:
            return records_changes(self._log.open(version))
        except DeltaError as problem:
            fact = f"cannot be opened at its version {version} ({first_line(problem)})"
            raise SourceError(self._source.title, fact, "See to the table") from problem

    def _entry(self, file: DataFile, version: int, at_ms: int, first: int, change: str) -> Entry:
        rows = file.rows if file.rows > 0 else self._counted(file)
        told = FileOrigin(
            table=self._table,
            version=version,
            partition=self._partition(file.partition, version),
            change=change,
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
