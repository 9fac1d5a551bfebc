"""Which files of a table may have some rows, by the bounds of offsets that its log has of files.

A file of which the log tells no bounds may have any.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.origins import Both, Origins, Own, RowSet, columns_in
from lake_assets.model.origins import OriginColumns, Place


def files_that_may_have(handle: DeltaTable, rows: RowSet, origin: OriginColumns) -> list[DataFile]:
    """As `active_files`, without those that have none of the rows; of a named set, else all.

    Args:
        handle: the table.
        rows: some rows.
        origin: the columns that say where a row came from.
    """
    files, named = active_files(handle), _named(rows)
    if named is None:
        return files
    bounds = _bounds(handle, origin)
    if bounds is None:
        return files
    return [file for file, may in zip(files, _may_have(bounds, named), strict=True) if may]


def _named(rows: RowSet) -> Origins | None:
    """The rows that are named one by one, if those of a set are all among some such."""
    if isinstance(rows, Origins):
        return rows
    if isinstance(rows, Both) and isinstance(rows.one, Own):
        return _named(rows.other)
    return None


def _bounds(handle: DeltaTable, origin: OriginColumns) -> pa.Table | None:
    """Columns `first`, `last`, `low`, `high`: bounds of offsets, and of partitions if there are."""
    names = columns_in((field.name for field in handle.schema().fields), origin)
    told = pa.table(handle.get_add_actions(flatten=True))
    wanted = {"first": f"min.{names.offset}", "last": f"max.{names.offset}"}
    if names.partition is not None:
        wanted |= {"low": f"min.{names.partition}", "high": f"max.{names.partition}"}
    if not {*wanted.values()} <= {*told.column_names}:
        return None
    return pa.table({name: told[column] for name, column in wanted.items()})


def _may_have(bounds: pa.Table, rows: Origins) -> npt.NDArray[np.bool_]:
    columns = {name: bounds[name].to_numpy() for name in bounds.column_names}
    is_told = ~np.any([np.isnan(one.astype(np.float64)) for one in columns.values()], axis=0)
    may: npt.NDArray[np.bool_] = ~is_told
    for (_, partition), offsets in _offsets(rows):
        first = np.searchsorted(offsets, np.nan_to_num(columns["first"]).astype(np.int64))
        last = np.searchsorted(offsets, np.nan_to_num(columns["last"]).astype(np.int64), "right")
        has = last > first
        if "low" in columns:
            has &= (columns["low"] <= partition) & (partition <= columns["high"])
        may |= is_told & has
    return may


def _offsets(rows: Origins) -> Sequence[tuple[Place, npt.NDArray[np.int64]]]:
    """By place, the offsets in their order."""
    return [
        (place, np.concatenate([np.arange(first, end, dtype=np.int64) for first, end in spans]))
        for place, spans in rows.spans.items()
        if spans
    ]
