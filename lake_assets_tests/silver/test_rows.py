import pyarrow as pa

from lake_assets.silver.rows import quarantine_sources, silver_schema
from lake_assets_tests.columns import BRONZE, BRONZE_NAMES, KAFKA, ORIGIN, QUARANTINE


def test_silver_has_the_decoded_columns_then_where_a_row_came_from():
    found = silver_schema(pa.schema([("gamer_id", pa.string())]), KAFKA)
    assert found.names == [
        "gamer_id",
        "_topic",
        "_partition",
        "_offset",
        "_kafka_timestamp",
        "_schema_id",
    ]


def test_origins_have_bronzes_types():
    taken = [BRONZE.field(name).type for name in BRONZE_NAMES]
    assert ORIGIN.types == taken


def test_each_column_of_quarantine_has_a_source():
    assert len(quarantine_sources(KAFKA)) == len(QUARANTINE)
    assert [QUARANTINE.field(name).type for name in BRONZE_NAMES] == ORIGIN.types
