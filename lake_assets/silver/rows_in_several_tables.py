"""Rows that a batch has once for each of their tables: what is said of one is said of all."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake_assets.silver.rows import ROW


def spread_to_rows(
    batch: pa.RecordBatch, mask: npt.NDArray[np.bool_], *, is_any: bool = True
) -> npt.NDArray[np.bool_]:
    """The mask where it holds in any of the tables of a row, or in all of them.

    It is as it was where rows have one table each.
    """
    if ROW not in batch.schema.names:
        return mask
    starts, group = _groups(batch)
    if not len(starts):
        return mask
    reduce = np.logical_or if is_any else np.logical_and
    spread: npt.NDArray[np.bool_] = reduce.reduceat(mask, starts)[group]
    return spread


def are_first(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Of each row, one."""
    first = np.ones(batch.num_rows, dtype=np.bool_)
    if ROW in batch.schema.names:
        row = batch[ROW].to_numpy()
        first[1:] = row[1:] != row[:-1]
    return first


def _groups(batch: pa.RecordBatch) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each row begins, and which row each is of."""
    first = are_first(batch)
    return np.flatnonzero(first), np.cumsum(first) - 1
