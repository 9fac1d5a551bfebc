"""The table that rows land in: `bronze_{feed}_landed`, a file a commit.

A commit has rows with the next offsets and, in a row of its own, how far the reading then is: there
are both or neither. Bronze is filled from here. What a position says is its source's.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import overtaken
from lake_assets.delta.data_files import read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, SourceError
from lake_assets.model.owners import Owner
from lake_assets.model.tables import landed_of
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.store import Store

OWN = pa.schema(
    [
        pa.field("number", pa.int64()),  # of the commit
        pa.field("position", pa.string()),  # how far the reading is: in a row of its own
    ]
)
"""The table's columns beside those of its source."""

_Position = TypeVar("_Position")


class LandingTable:
    """What rows of a feed are added to, by the one process that reads its source."""

    def __init__(self, lake: Store, feed: str, columns: pa.Schema) -> None:
        """Open it, and create it if it is not there.

        Args:
            lake: where it is.
            feed: whose it is.
            columns: of its source's rows, in their order.

        Raises:
            LakeError: the lake cannot be read or written.
        """
        self._lake, self._feed, self._table = lake, feed, landed_of(feed)
        self._schema = pa.schema([*columns, *OWN])
        self._committer = Committer(lake, threads=1)
        owners = {self._table: Owner(feed=feed)}
        self._committer.create({self._table: self._schema}, owners=owners)
        handle = self.fresh()
        self._number = handle.transaction_version(_number_app(feed)) or 0
        self.position = _text_in(lake, handle, feed)
        """How far the reading is, as its source wrote it; None if nothing was read."""

        self._committer.accept_restores({self._table: handle})
        self.end = end_of(handle, feed)
        """The offset that the next row gets."""

    def fresh(self) -> DeltaTable:
        """The table as it is now."""
        return self._committer.fresh(self._table)

    def commit(self, rows: pa.Table, position: str) -> None:
        """Add rows, and how far the reading is then.

        Args:
            rows: with the columns of the source, and the next offsets; none if it only moved on.
            position: as its source writes it.

        Raises:
            LakeError: the lake cannot be written, or another process writes the table.
        """
        number, end = self._number + 1, self.end + rows.num_rows
        numbered = rows.append_column(OWN.field("number"), pa.repeat(pa.scalar(number), len(rows)))
        told = pa.Table.from_pylist([{"number": number, "position": position}], self._schema)
        data = pa.concat_tables([numbered, told], promote_options="default").select(
            self._schema.names
        )
        written = write_file(self._lake, data, log_of(self._lake, self._table).folder)
        batch = Batch(_number_app(self._feed), number)
        commit = Commit(
            table=self._table,
            files=[DataFile(**written)],  # type: ignore[arg-type]
            info={"rows": str(len(rows))},
            transactions=[Batch(_end_app(self._feed), end)],
        )
        if self._committer.append([commit], batch):
            raise overtaken(self._table, f"it has batch {batch.version} already")
        self._number, self.end, self.position = number, end, position

    def close(self) -> None:
        """Wait for what is under way; raises as `Committer.close`."""
        self._committer.close()


def _number_app(feed: str) -> str:
    """Under which the table numbers its commits."""
    return f"lake_assets:landed:{feed}"


def _end_app(feed: str) -> str:
    """Under which it records the offset that the next row gets."""
    return f"lake_assets:landed-end:{feed}"


def handle_of(lake: Store, feed: str) -> DeltaTable | None:
    """The table; None if nothing was read yet."""
    return open_table(lake, landed_of(feed))


def end_of(handle: DeltaTable, feed: str) -> int:
    """The offset that the next row gets."""
    return handle.transaction_version(_end_app(feed)) or 0


def position_in(
    lake: Store, handle: DeltaTable | None, feed: str, read: Callable[[str], _Position]
) -> _Position | None:
    """How far the reading is, by a table that need not be there; None if nothing was read.

    Args:
        lake: where the table is.
        handle: the table.
        feed: whose it is.
        read: makes a position of what its source wrote; ValueError of something else.

    Raises:
        LakeError: the table was put back to an older version, or cannot be read.
    """
    return None if handle is None else position_of(_text_in(lake, handle, feed), feed, read)


def position_of(text: str | None, feed: str, read: Callable[[str], _Position]) -> _Position | None:
    """A position that was written; None of none. As `position_in`, of text that is at hand."""
    try:
        return None if text is None else read(text)
    except ValueError as problem:
        raise LakeError(
            landed_of(feed).name, f"{problem}", "Put it back from a backup"
        ) from problem


def _text_in(lake: Store, handle: DeltaTable, feed: str) -> str | None:
    number = handle.transaction_version(_number_app(feed)) or 0
    if not number:
        return None
    log = log_of(lake, landed_of(feed))
    for file in files_with(handle, "number", number, number):
        rows = read_file(log, file, ["number", "position"])
        own = rows.filter(pc.and_(pc.equal(rows["number"], number), rows["position"].is_valid()))
        if own.num_rows:
            return str(own["position"][0].as_py())
    raise LakeError(
        landed_of(feed).name,
        f"was put back to an older version (RESTORE): it lacks its commit {number}, and rows that "
        "were read would be read again",
        "Put it to the newest version that it had before that",
    )


def files_with(handle: DeltaTable, column: str, low: int, high: int) -> list[DataFile]:
    """The files that have values of a column of numbers between two, both included, in order."""
    actions = pa.table(handle.get_add_actions(flatten=True))
    least, most = f"min.{column}", f"max.{column}"
    if least not in actions.column_names:
        return []
    actions = actions.sort_by(least)
    told = zip(
        *(actions[name].to_pylist() for name in ("path", "size_bytes", least, most)), strict=True
    )
    return [
        DataFile(path=path, size=size, rows=0, stats="")
        for path, size, first, last in told
        if first is not None and first <= high and last >= low
    ]


def landed_rows(
    lake: Store, feed: str, columns: pa.Schema, files: Sequence[DataFile], span: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    """The rows between two offsets, in their order.

    Args:
        lake: where the table is.
        feed: whose it is.
        columns: that are read.
        files: those that have the rows.
        span: the first offset, and the one after the last.

    Raises:
        SourceError: some are not there.
    """
    log, reached = log_of(lake, landed_of(feed)), 0
    start, end = span
    for file in files:
        try:
            with log.store.open_for_reading(log.data_file(file.path)) as source:
                rows = pq.read_table(
                    source,
                    columns=columns.names,
                    partitioning=None,
                    filters=[("ordinal", ">=", start), ("ordinal", "<", end)],
                )
        except FileNotFoundError:
            continue  # it is counted below
        reached += rows.num_rows
        yield from (
            rows.cast(columns).sort_by("ordinal").combine_chunks().to_batches(max_chunksize=8_192)
        )
    if reached != end - start:
        raise SourceError(
            landed_of(feed).name,
            f"has {reached} rows between the offsets {start} and {end}, in place of {end - start}",
            "Put its files back, from a backup; or run `lake-assets rebuild bronze`, which reads "
            "the source again",
        )
