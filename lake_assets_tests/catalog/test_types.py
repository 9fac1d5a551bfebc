import json

import pyarrow as pa
import pytest
from deltalake import Schema

from lake_assets.catalog.types import type_in_words


@pytest.mark.parametrize(
    ("arrow", "words"),
    [
        (pa.int64(), "bigint"),
        (pa.int32(), "int"),
        (pa.int16(), "smallint"),
        (pa.int8(), "tinyint"),
        (pa.float32(), "float"),
        (pa.float64(), "double"),
        (pa.bool_(), "boolean"),
        (pa.binary(), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.decimal128(38, 9), "decimal(38,9)"),
        (pa.list_(pa.int64()), "array<bigint>"),
        (pa.map_(pa.string(), pa.list_(pa.int8())), "map<string,array<tinyint>>"),
        (
            pa.struct([("at", pa.timestamp("us", "UTC")), ("in", pa.struct([("n", pa.int64())]))]),
            "struct<at:timestamp,in:struct<n:bigint>>",
        ),
    ],
)
def test_deltas_types_are_called_as_spark_calls_them(arrow, words):
    (field,) = json.loads(Schema.from_arrow(pa.schema([("x", arrow)])).to_json())["fields"]
    assert type_in_words(field["type"]) == words
