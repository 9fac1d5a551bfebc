"""What lands of a database's table (`sources.landing.table`): rows, and what they are known by."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.origins import PROBLEM
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.model.tables import landed_of
from lake_assets.parquet.read_file import opened
from lake_assets.sources.landing.table import files_with
from lake_assets.storage.store import Store

COLUMNS = pa.schema(
    [
        pa.field("value", pa.binary()),
        *origin_schema(PostgresSource.origin),
        pa.field(PROBLEM, pa.string()),
    ]
)
"""What bronze has of a row."""

LANDED = pa.schema(
    [
        *COLUMNS,
        pa.field("key", pa.string()),  # as JSON
        pa.field("watermark", pa.int64()),  # itself, or microseconds since 1970
    ]
)
"""What lands of a row."""


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


def as_rows(values: Sequence[tuple[str, int, str | None]], *, first: int, at_us: int) -> pa.Table:
    """Rows as they land, `LANDED`, by key, watermark and JSON.

    Args:
        values: the rows.
        first: the offset of the first of them.
        at_us: when they were read, in microseconds since 1970.
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
        }
        for place, (key, mark, value) in enumerate(values)
    ]
    return pa.Table.from_pylist(rows, LANDED)
