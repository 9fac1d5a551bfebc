import shutil

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.catalog.entries import PARTITIONED_BY
from lake_assets.catalog.s3_policies import policies
from lake_assets.catalog.wanted import wanted_tables
from lake_assets.delta.table_owners import claim
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner
from lake_assets.model.tables import (
    QUALITY_LOG,
    bronze_of,
    deliveries_of,
    duplicates_of,
    files_of,
    landed_of,
    waiting_of,
)
from lake_assets.settings.schema import StorageSettings
from lake_assets.state.select_notes import SelectedColumn, SelectNote, note_select
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.catalog.lakes import FEED, ROWS, UNO, put


def found(settings, *feeds):
    return {table.name: table for table in wanted_tables(settings, feeds)}


def test_what_a_feed_keeps_for_itself_and_copies_are_left_out(settings):
    owner = Owner(feed="play")
    for of in (bronze_of, duplicates_of, files_of, landed_of, waiting_of):
        put(settings, of("play"), ROWS, owner)
    for table in (QUALITY_LOG, deliveries_of("play", "api")):
        put(settings, table, ROWS, None)
    put(settings, UNO, ROWS, Owner(feed="play", key="uno"))
    lake = settings.lake_dir
    shutil.copytree(lake / UNO.relative, lake / "silver" / "mine")
    assert {name: table.comment for name, table in found(settings, FEED).items()} == {
        "bronze_play": "Rows of feed play as they came, with their origin.",
        "bronze_play_duplicates": "Which rows of feed play are duplicates, and of which.",
        "silver_uno_events": "Decoded rows of key uno of feed play.",
        "quality_log": "How each batch of each key fared with each expectation, of all feeds.",
    }


def test_an_empty_lake_has_none(settings):
    assert found(settings, FEED) == {}


def test_columns_say_what_they_are_selected_from_and_what_a_table_is_split_by(settings):
    feed = Feed.model_validate({**FEED.model_dump(), "select": ("kind", "ante * 2 as twice")})
    rows = pa.table({"kind": ["a"], "twice": [2]})
    write_deltalake(settings.lake_dir / UNO.relative, rows, partition_by=["kind"])
    claim(lake_of(settings), UNO, Owner(feed="play", key="uno"))
    columns = {
        "kind": SelectedColumn(reads=("kind",), is_copy=True),
        "twice": SelectedColumn(reads=("ante",), is_copy=False),
    }
    note_select(settings.state_dir, "play", SelectNote(select=feed.select, columns=columns))
    (table,) = found(settings, feed).values()
    assert [(one.name, one.comment) for one in table.columns] == [
        ("kind", "payload field kind"),
        ("twice", "computed from ante"),
    ]
    assert table.properties[PARTITIONED_BY] == "kind"


@pytest.fixture
def in_bucket(settings, s3, bucket, tmp_path):
    """A lake in a bucket, with a table."""
    options = StorageSettings(options=s3.options)
    update = {"lake": f"s3://{bucket}/some/lake", "storage": options, "state": tmp_path / "state"}
    lake = settings.model_copy(update=update)
    place = f"s3://{bucket}/some/lake/{UNO.relative}"
    write_deltalake(place, ROWS, storage_options={**s3.options, "aws_conditional_put": "etag"})
    claim(lake_of(lake), UNO, Owner(feed="play", key="uno"))
    return lake


def test_a_table_in_a_bucket_is_at_its_address_and_has_policies(in_bucket, bucket):
    (table,) = found(in_bucket, FEED).values()
    assert table.location == f"s3://{bucket}/some/lake/silver/silver_uno_events"
    (document,) = policies([table])
    assert document["Statement"][1]["Resource"] == [
        f"arn:aws:s3:::{bucket}/some/lake/silver/silver_uno_events/*"
    ]
