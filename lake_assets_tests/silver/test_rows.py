import pyarrow as pa

from lake_assets.bronze import rows as bronze
from lake_assets.silver.rows import (
    BRONZE_NAMES,
    ORIGIN,
    QUARANTINE,
    QUARANTINE_SOURCES,
    silver_schema,
)


def test_silver_has_the_decoded_columns_then_where_a_row_came_from():
    found = silver_schema(pa.schema([("gamer_id", pa.string())]))
    assert found.names == [
        "gamer_id",
        "_topic",
        "_partition",
        "_offset",
        "_kafka_timestamp",
        "_schema_id",
    ]


def test_origins_have_bronzes_types():
    taken = [bronze.SCHEMA.field(name).type for name in BRONZE_NAMES]
    assert ORIGIN.types == taken


def test_each_column_of_quarantine_has_a_source():
    assert len(QUARANTINE_SOURCES) == len(QUARANTINE)
    assert [QUARANTINE.field(name).type for name in BRONZE_NAMES] == ORIGIN.types
