from datetime import UTC, datetime, timedelta

import pyarrow as pa

from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.sources import KafkaSource
from lake_assets.model.tables import TableRef
from lake_assets.silver.file_keys import KeyColumns, feed_and_name, keys_in, places_of
from lake_assets.silver.stored_keys import KeyReader
from lake_assets_tests.sample import silver_of

AT = datetime(2026, 11, 27, tzinfo=UTC)
COLUMNS = KeyColumns(key=("id",), time="at", origin=KafkaSource.origin.in_silver, owner="plays")


def rows(*feeds, is_named=True):
    count = len(feeds)
    made = {"id": ["e"] * count, "at": pa.array([AT] * count, pa.timestamp("us", "UTC"))}
    made |= {"_topic": ["t"] * count, "_partition": pa.array([0] * count, pa.int32())}
    made |= {"_offset": [7] * count} | ({"_feed": list(feeds)} if is_named else {})
    return pa.table(made)


def test_rows_of_two_feeds_are_of_two_places_though_their_origins_are_one():
    keys = keys_in(rows(None, "plays", "old"), COLUMNS)
    places = [places_of(keys)[number] for number in keys["place"].to_pylist()]
    assert [feed_and_name(name, "plays") for name, _ in places] == [
        ("plays", "t"),
        ("plays", "t"),
        ("old", "t"),
    ]
    assert places_of(keys_in(rows(None, is_named=False), COLUMNS)) == [("t", 0)]


def test_a_rows_identity_comes_back_with_its_feed():
    reader = KeyReader(rule=Deduplicate(key=("id",), within=timedelta(hours=1)), columns=COLUMNS)
    table: TableRef = silver_of("uno")
    keys = reader._of_table(keys_in(rows("old", None), COLUMNS), table)  # noqa: SLF001 - of files
    assert reader.origins(keys.rows).to_pylist() == [
        {"_topic": "t", "_feed": "old", "_offset": 7, "_partition": 0},
        {"_topic": "t", "_feed": "plays", "_offset": 7, "_partition": 0},
    ]
