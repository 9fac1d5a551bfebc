"""Which files of a table may have values of a column, by the bounds that its log tells."""

from typing import TypeVar

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files

_Bound = TypeVar("_Bound", int, str)


def files_between(handle: DeltaTable, column: str, first: _Bound, last: _Bound) -> list[DataFile]:
    """The files whose values of a column may be from `first` to `last`; one without bounds may."""
    told = pa.table(handle.get_add_actions(flatten=True))
    least, most = (
        told[name].to_pylist() if name in told.column_names else [None] * told.num_rows
        for name in (f"min.{column}", f"max.{column}")
    )
    return [
        file
        for file, low, high in zip(active_files(handle), least, most, strict=True)
        if (low is None or low <= last) and (high is None or high >= first)
    ]
