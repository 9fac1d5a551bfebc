"""The table that rows of a database land in: `bronze_{feed}_landed`, a file a commit.

A commit has rows with the next offsets and, in a row of its own, how far the reading then is: there
are both or neither. Bronze is filled from here.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError, SourceError
from lake_assets.model.origins import PROBLEM
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.model.tables import landed_of
from lake_assets.parquet.read_file import opened
from lake_assets.sources.postgres.position import Position
from lake_assets.storage.store import Store

COLUMNS = pa.schema(
    [
        pa.field("value", pa.binary()),
        *origin_schema(PostgresSource.origin),
        pa.field(PROBLEM, pa.string()),
    ]
)
"""What bronze has of a row."""

SCHEMA = pa.schema(
    [
        *COLUMNS,
        pa.field("key", pa.string()),  # as JSON
        pa.field("watermark", pa.int64()),  # itself, or microseconds since 1970
        pa.field("number", pa.int64()),  # of the commit
        pa.field("position", pa.string()),  # how far the reading is: in a row of its own
    ]
)
"""Columns of `bronze_{feed}_landed`."""


def number_app(feed: str) -> str:
    """Under which the table numbers its commits."""
    return f"lake_assets:landed:{feed}"


def end_app(feed: str) -> str:
    """Under which it records the offset that the next row gets."""
    return f"lake_assets:landed-end:{feed}"


def end_of(handle: DeltaTable, feed: str) -> int:
    """The offset that the next row gets."""
    return handle.transaction_version(end_app(feed)) or 0


def position_in(lake: Store, handle: DeltaTable, feed: str) -> Position | None:
    """How far the reading is; None if nothing was read.

    Raises:
        LakeError: the table was put back to an older version, or cannot be read.
    """
    number = handle.transaction_version(number_app(feed)) or 0
    if not number:
        return None
    log, table = log_of(lake, landed_of(feed)), landed_of(feed).name
    for file in files_with(handle, "number", number, number):
        rows = read_file(log, file, ["number", "position"])
        own = rows.filter(pc.and_(pc.equal(rows["number"], number), rows["position"].is_valid()))
        if own.num_rows:
            try:
                return Position.of(own["position"][0].as_py())
            except ValueError as problem:
                raise LakeError(table, f"{problem}", "Put it back from a backup") from problem
    raise LakeError(
        table,
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


def known_among(
    lake: Store, handle: DeltaTable, feed: str, keys: Sequence[str], low: int, high: int
) -> dict[tuple[str, int], bytes | None]:
    """The rows that landed of some keys with watermarks between two: each as it landed last."""
    log = log_of(lake, landed_of(feed))
    wanted = pa.array(keys, pa.string())
    found: dict[tuple[str, int], tuple[int, bytes | None]] = {}
    for file in files_with(handle, "watermark", low, high):
        for rows in _row_groups(log, file, ["key", "watermark", "ordinal", "value"], wanted):
            for key, mark, ordinal, value in zip(*rows.to_pydict().values(), strict=True):
                if low <= mark <= high and found.get((key, mark), (-1,))[0] < ordinal:
                    found[key, mark] = (ordinal, value)
    return {known: value for known, (_, value) in found.items()}


def _row_groups(
    log: TableLog, file: DataFile, columns: Sequence[str], keys: pa.Array
) -> Iterator[pa.Table]:
    """Rows of a file that have one of some keys; a group is read whole only if it has one."""
    with log.store.open_for_reading(log.data_file(file.path)) as source, opened(source) as rows:
        for group in range(rows.num_row_groups):
            mask = pc.is_in(rows.read_row_group(group, ["key"])["key"], value_set=keys)
            if pc.any(mask).as_py():
                yield rows.read_row_group(group, list(columns)).filter(mask)


def landed_rows(
    lake: Store, feed: str, files: Sequence[DataFile], start: int, end: int
) -> Iterator[pa.RecordBatch]:
    """The rows between two offsets, `COLUMNS`, in their order.

    Raises:
        SourceError: some are not there.
    """
    log, reached = log_of(lake, landed_of(feed)), 0
    for file in files:
        try:
            with log.store.open_for_reading(log.data_file(file.path)) as source:
                rows = pq.read_table(
                    source,
                    columns=COLUMNS.names,
                    partitioning=None,
                    filters=[("ordinal", ">=", start), ("ordinal", "<", end)],
                )
        except FileNotFoundError:
            continue  # it is counted below
        reached += rows.num_rows
        yield from (
            rows.cast(COLUMNS).sort_by("ordinal").combine_chunks().to_batches(max_chunksize=8_192)
        )
    if reached != end - start:
        raise SourceError(
            landed_of(feed).name,
            f"has {reached} rows between the offsets {start} and {end}, in place of {end - start}",
            "Put its files back, from a backup; or run `lake-assets rebuild bronze`, which reads "
            "the database again",
        )


def handle_of(lake: Store, feed: str) -> DeltaTable | None:
    """The table; None if nothing was read yet."""
    return open_table(lake, landed_of(feed))


def as_rows(
    values: Sequence[tuple[str, int, str | None]],
    *,
    first: int,
    at_us: int,
    number: int,
    position: Position,
) -> pa.Table:
    """What a commit has: rows by key, watermark and JSON, and how far the reading is.

    Args:
        values: the rows.
        first: the offset of the first of them.
        at_us: when they were read, in microseconds since 1970.
        number: of the commit.
        position: how far the reading is.
    """
    read_at = datetime.fromtimestamp(at_us / 1e6, tz=UTC)
    rows = [
        {
            "value": None if value is None else value.encode(),
            "database_table": "table",
            "ordinal": first + place,
            "read_at": read_at,
            PROBLEM: "the row has more than 64 MiB as JSON" if value is None else None,
            "key": key,
            "watermark": mark,
            "number": number,
        }
        for place, (key, mark, value) in enumerate(values)
    ]
    return pa.Table.from_pylist([*rows, {"number": number, "position": position.text}], SCHEMA)
