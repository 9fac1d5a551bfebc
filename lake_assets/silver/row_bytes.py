"""How many bytes each row of a column takes, so that rows can be cut by what is made of them."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def row_bytes(column: pa.Array) -> npt.NDArray[np.int64]:
    """Of each row its values' bytes: of texts and lists its own, of other types the same for all.

    What nulls, offsets and validity take is not counted.
    """
    kind = column.type
    if pa.types.is_struct(kind):
        total = np.zeros(len(column), np.int64)
        for part in column.flatten():
            total += row_bytes(part)
        return total
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        if pa.types.is_map(kind):
            column = column.cast(pa.list_(pa.struct([("k", kind.key_type), ("v", kind.item_type)])))
        items = np.concatenate([[0], np.cumsum(row_bytes(column.flatten()))])
        ends = np.cumsum(_numbers(pc.list_value_length(column)))
        return np.diff(items[ends], prepend=0)
    if _is_text(kind):
        return _numbers(pc.binary_length(column))
    size = column.nbytes // max(len(column), 1)
    return np.full(len(column), size, np.int64)


def _is_text(kind: pa.DataType) -> bool:
    is_small = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return bool(is_small or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _numbers(lengths: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)
