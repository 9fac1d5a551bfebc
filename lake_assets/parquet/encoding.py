"""How the columns of a Parquet file are encoded: by their types, so that no work is tried in vain.

Parquet writers build a dictionary of every column and give up where it grows large, which is most
of the time that writing takes (docs/performance.md). Pure; who writes the files is
`parquet.writer`.
"""

from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_REPEATING = frozenset({"BYTE_ARRAY", "INT32", "BOOLEAN"})
"""Physical types of names, states, levels and days: a dictionary pays."""

_STEADY = "INT64"
"""Physical type of offsets, ids and times: neighbours differ by little."""


@lru_cache(maxsize=64)
def encodings(schema: pa.Schema) -> dict[str, Any]:
    """Arguments of `pyarrow.parquet.ParquetWriter` for files with these columns.

    Text and short integers get a dictionary; long integers and times are stored as differences
    (DELTA_BINARY_PACKED, https://parquet.apache.org/docs/file-format/data-pages/encodings/); raw
    bytes and floating-point numbers, which hardly repeat, stay plain.
    """
    leaves = _leaves(schema)
    steady = [leaf.path for leaf in leaves if leaf.physical_type == _STEADY]
    repeating = [
        leaf.path for leaf in leaves if leaf.physical_type in _REPEATING and not _is_raw(leaf)
    ]
    return {
        "use_dictionary": repeating,
        "column_encoding": dict.fromkeys(steady, "DELTA_BINARY_PACKED"),
    }


def _leaves(schema: pa.Schema) -> list[pq.ColumnSchema]:
    """The columns as Parquet sees them: each leaf of a nested one by its path."""
    buffer = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), buffer)
    parquet_schema = pq.read_metadata(pa.BufferReader(buffer.getvalue())).schema
    return [parquet_schema.column(index) for index in range(len(parquet_schema))]


def _is_raw(leaf: pq.ColumnSchema) -> bool:
    return bool(leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "STRING")
