from dataclasses import replace

import pyarrow as pa

from lake_assets.formats.base import Decoded


def test_decoded_rows_are_counted_where_no_column_is_yet():
    """What selects and Spark make of them must be as long."""
    nothing = pa.nulls(3, pa.string())
    none = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
    decoded = Decoded(
        columns=none, reason=nothing, detail=nothing, question=pa.nulls(3, pa.int32())
    )
    assert decoded.columns.num_rows == 3
    assert decoded.columns.append_column("a", pa.array([1, 2, 3])).num_rows == 3
    assert replace(decoded, columns=none).columns.num_rows == 3
    one = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
    assert replace(decoded, columns=one).columns == one
