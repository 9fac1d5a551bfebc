"""Which feeds a silver table has rows of, as its rows say, whatever feeds are declared now.

Where each row says so (`FEED`) is `model.origins`'; whose the table is, is `delta.table_owners`'.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lake_assets.delta.data_files import active_files, are_whole, columns_of_file, read_file
from lake_assets.delta.deletion_vectors import kept_rows, without_deleted
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError, first_line
from lake_assets.model.origins import FEED
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store


def others_in(lake: Store, tables: Iterable[TableRef], feed: str) -> tuple[TableRef, str] | None:
    """The first of the tables that has rows which name another feed, and one such feed.

    Rows of files that are lost are none. A table that is not there has none.

    Raises:
        LakeError: a table cannot be read.
    """
    for table in tables:
        log = log_of(lake, table)
        try:
            other = _other_in(log, log.open(), feed)
        except TableNotFoundError:
            continue
        except (DeltaError, OSError, pa.ArrowException) as problem:
            fact = f"cannot be read ({first_line(problem)}), so whose rows it has is not known"
            raise LakeError(table.name, fact, "Check the folder and the disk") from problem
        if other is not None:
            return table, other
    return None


def _other_in(log: TableLog, handle: DeltaTable, feed: str) -> str | None:
    if FEED not in {column.name for column in handle.schema().fields}:
        return None
    kept = kept_rows(log, handle)
    bounds = _bounds(handle)
    for file in active_files(handle):
        if bounds.get(file.logged or file.path) == (feed, feed):
            continue  # what has no such bounds is looked at
        if not are_whole(log, [file]) or FEED not in columns_of_file(log, file):
            continue
        rows = without_deleted(read_file(log, file, [FEED]), kept.get(log.data_file(file.path)))
        names = (name for name in pc.unique(rows[FEED]).to_pylist() if name not in {None, feed})
        if (other := next(names, None)) is not None:
            return str(other)
    return None


def _bounds(handle: DeltaTable) -> dict[str, tuple[str | None, str | None]]:
    """By a file's path as the log has it, the least and the greatest name in it, if it tells."""
    actions = pa.table(handle.get_add_actions(flatten=True))
    names = [f"min.{FEED}", f"max.{FEED}"]
    if not set(names) <= set(actions.column_names):
        return {}
    columns = (actions[name].to_pylist() for name in ("path", *names))
    return {path: (least, most) for path, least, most in zip(*columns, strict=True)}
