"""Rows of bronze whose values are framed, as decoders get them."""

import pyarrow as pa


def bronze(*values: bytes | None) -> pa.RecordBatch:
    """Values with their schema ids; null of what is not framed."""
    ids = [
        int.from_bytes(value[1:5], "big") if value and len(value) >= 5 and value[0] == 0 else None
        for value in values
    ]
    return pa.record_batch(
        {"value": pa.array(values, pa.binary()), "schema_id": pa.array(ids, pa.int64())}
    )
