"""Values that became several rows, refused as a whole where one of these rows is refused.

A value is in silver with all its rows, or once in quarantine: so a requeue, which decodes it again,
neither loses a row nor doubles one. Runs in Spark's workers.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.quarantine import Reason
from lake_assets.model.transforms import ELEMENT
from lake_assets.parquet.writer import TABLE
from lake_assets.silver.rows import DETAIL, REASON, VALUE


def of_refused(batch: pa.RecordBatch, quarantine: int) -> npt.NDArray[np.bool_]:
    """Which rows are of a value of which a row is refused; arguments as of `refused_whole`."""
    is_refused = pc.equal(batch[TABLE], quarantine).fill_null(fill_value=False)
    value = np.cumsum(_are_first(batch)) - 1
    found: npt.NDArray[np.bool_] = np.isin(value, value[is_refused.to_numpy(zero_copy_only=False)])
    return found


def refused_whole(batch: pa.RecordBatch, quarantine: int) -> pa.RecordBatch:
    """Rows as they were placed and judged, those of a value together, without halves of values.

    Where a row is refused, the first row of its value goes to quarantine, with the raw value, the
    reason and which element it was; the value's others go nowhere. Of several reasons it is the
    first; but that a batch was skipped comes before all, since such values wait to be asked for.

    Args:
        batch: with whole values, each raw one beside its first row.
        quarantine: index of its table; those from there on keep the raw value.
    """
    table = batch[TABLE].fill_null(-1).to_numpy(zero_copy_only=False).copy()
    is_refused = table == quarantine
    if is_refused.any():
        is_first = _are_first(batch)
        value = np.cumsum(is_first) - 1
        rows = _skipped_first(batch, np.flatnonzero(is_refused))
        refused, at, many = np.unique(value[rows], return_index=True, return_counts=True)
        why = rows[at]
        first = np.flatnonzero(is_first)[refused]
        table[np.isin(value, refused)] = -1
        table[first] = quarantine
        batch = _with_reasons(batch, first, why, many)
    kept = pa.array(table >= quarantine)
    changes = {
        TABLE: pa.array(table, pa.int32(), mask=table < 0),
        VALUE: pc.if_else(kept, batch[VALUE], pa.scalar(None, pa.binary())),
    }
    return _changed(batch, changes)


def _are_first(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    numbers: npt.NDArray[np.int64] = batch[ELEMENT].fill_null(0).to_numpy(zero_copy_only=False)
    are_first: npt.NDArray[np.bool_] = numbers == 0
    return are_first


def _skipped_first(batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The rows in their order, after those of a batch that was skipped."""
    is_skipped = pc.equal(batch[REASON].take(pa.array(rows)), Reason.SKIPPED.value)
    is_other = ~is_skipped.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
    return rows[np.argsort(is_other, kind="stable")]


def _with_reasons(
    batch: pa.RecordBatch, first: np.ndarray, why: np.ndarray, many: np.ndarray
) -> pa.RecordBatch:
    """The rows `first` with the reasons of the rows `why`, of which there are `many`."""
    reasons, details = batch[REASON].to_pylist(), batch[DETAIL].to_pylist()
    found = [(reasons[row], details[row], batch[ELEMENT][row].as_py()) for row in why.tolist()]
    for row, (reason, detail, element), count in zip(
        first.tolist(), found, many.tolist(), strict=True
    ):
        more = f", and {count - 1} more" if count > 1 else ""
        where = "" if element is None else f"element {element}{more}: "
        reasons[row], details[row] = reason, f"{where}{detail or ''}"
    changes = {REASON: pa.array(reasons, pa.string()), DETAIL: pa.array(details, pa.string())}
    return _changed(batch, changes)


def _changed(batch: pa.RecordBatch, changes: dict[str, pa.Array]) -> pa.RecordBatch:
    arrays = [changes.get(name, batch[name]) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
