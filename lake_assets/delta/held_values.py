"""Whether doubles hold the integers that tables have stored, before columns become doubles."""

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files, columns_of_file, read_file
from lake_assets.delta.table_log import log_of
from lake_assets.model.tables import TableRef


def unheld(
    committer: Committer, tables: Sequence[TableRef], wanted: pa.Schema, names: Collection[str]
) -> list[str]:
    """Those of the columns of which tables have a value that the wanted type does not hold.

    Reads them in all files, as what rewrites the files will.
    """
    held = list(names)
    for table, handle in committer.opened(tables).items():
        log = log_of(committer.store, table)
        for file in active_files(handle):
            there = set(columns_of_file(log, file)) & {*held}
            rows = read_file(log, file, sorted(there))
            held = [n for n in held if n not in there or _holds(rows[n], wanted.field(n).type)]
    return [name for name in names if name not in held]


def _holds(values: pa.ChunkedArray, wanted: pa.DataType) -> bool:
    chunks: Iterable[pa.Array] = values.chunks
    try:
        for chunk in chunks:
            chunk.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True
