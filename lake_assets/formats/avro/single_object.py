"""Avro's single-object encoding: datums that name their schema by its fingerprint, in bytes.

https://avro.apache.org/docs/1.12.0/specification/#single-object-encoding
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

START = 10
"""Bytes of the marker and the fingerprint."""

_MARKER = b"\xc3\x01"


def fingerprints(values: pa.Array) -> pa.Array:
    """The fingerprint that each value names, else null: int64.

    Eight bytes after the marker, little-endian.
    """
    starts = pc.equal(pc.binary_slice(values, 0, 2), _MARKER)
    is_long = pc.greater_equal(pc.binary_length(values), START)
    framed = pc.and_(starts, is_long).fill_null(fill_value=False)
    heads = pc.binary_slice(values.filter(framed), 2, START).cast(pa.binary(8))
    numbers = np.frombuffer(heads.buffers()[1] or b"", dtype="<i8", count=len(heads))
    return pc.replace_with_mask(pa.nulls(len(values), pa.int64()), framed, pa.array(numbers))
