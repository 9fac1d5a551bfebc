"""How long refreshes of views took lately, as the newest files of `stream_log` tell."""

from collections import defaultdict
from datetime import UTC, datetime
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.logs.entries import REFRESH
from lake_assets.model.tables import STREAM_LOG
from lake_assets.storage.store import Store

_FILES = 20
"""Of the table that are read: with one each half minute, the last ten minutes, 2 ms a file."""

_COLUMNS = ("feed", "view", "stage", "time", "seconds")

Took = tuple[float, float]
"""When a refresh was logged, in seconds since 1970, and how many seconds it took."""


def recent_refreshes(lake: Store) -> dict[tuple[str, str], list[Took]]:
    """By feed and view, the refreshes of the last ten minutes or so, in no order.

    Raises:
        LakeError: a file that the lake should have cannot be read.
    """
    handle = open_table(lake, STREAM_LOG)
    if handle is None:
        return {}
    log, newest = log_of(lake, STREAM_LOG), _newest(handle)
    found: dict[tuple[str, str], list[Took]] = defaultdict(list)
    for file in active_files(handle):
        if file.path in newest:
            rows = read_file(log, file, _COLUMNS)
            for row in rows.filter(pc.equal(rows["stage"], REFRESH)).to_pylist():
                found[row["feed"], row["view"]].append((_seconds(row["time"]), row["seconds"]))
    return dict(found)


def _newest(handle: DeltaTable) -> set[str]:
    files = pa.table(handle.get_add_actions(flatten=True))
    if "max.time" not in files.column_names:
        return set()
    order = pc.sort_indices(files, sort_keys=[("max.time", "descending")])[:_FILES]
    return {unquote(path) for path in files["path"].take(order).to_pylist()}


def _seconds(at: datetime) -> float:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
