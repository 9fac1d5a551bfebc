from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.model.files_source import FilesSource
from lake_assets.model.origins import FeedRows
from lake_assets.silver.rows import (
    as_in_silver,
    decoded_part,
    quarantine_schema,
    quarantine_sources,
    silver_origin,
    silver_schema,
)
from lake_assets_tests.columns import BRONZE, BRONZE_NAMES, KAFKA, ORIGIN, QUARANTINE

WHOSE = FeedRows(feed="old", has_unnamed=False, is_named=True)


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


def test_rows_of_files_are_in_the_columns_of_the_topic_whose_tables_they_go_into():
    files = replace(FilesSource.origin, tables=KAFKA, whose=WHOSE)
    at = datetime(2026, 11, 27, tzinfo=UTC)
    row = {"listing": "files", "ordinal": 7, "modified_at": at, "_file": "a", "_row": 2}
    names = {"_position": None, "schema_id": None}
    bronze = pa.schema([*origin_schema(FilesSource.origin), ("schema_id", pa.int64())])
    batch = pa.RecordBatch.from_pylist([{**row, **names}], schema=bronze)
    made = dict(zip(silver_origin(files).names, as_in_silver(batch, files), strict=True))
    assert {name: array.to_pylist() for name, array in made.items()} == {
        "_topic": ["files"],
        "_partition": [0],
        "_offset": [7],
        "_kafka_timestamp": [at],
        "_file": ["a"],
        "_row": [2],
        "_position": [None],
        "_schema_id": [None],
        "_feed": ["old"],
    }
    assert [array.type for array in made.values()] == silver_origin(files).types
    sources = quarantine_sources(files)
    assert len(sources) == len(quarantine_schema(files))
    assert sources[1:4] == ("_topic", "_offset", "_kafka_timestamp")


def test_what_other_feeds_rows_say_of_their_origin_is_no_decoded_column():
    table = pa.schema([("gamer_id", pa.string()), *ORIGIN, ("_file", pa.string())])
    assert decoded_part(table, KAFKA).names == ["gamer_id"]
