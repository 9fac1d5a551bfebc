"""Hive's metastore as it is: of the jars that PySpark brings."""

from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.catalog.hive_client import HiveClient, words
from lake_assets.catalog.sync import (
    look_at_grants,
    open_catalog,
    registered_tables,
    sync,
)
from lake_assets.errors import CatalogError
from lake_assets.model.feeds import Feed
from lake_assets.settings.catalog import CatalogKind
from lake_assets_tests.catalog.conftest import with_catalog
from lake_assets_tests.catalog.lakes import FEED, POKER, UNO, add_tags, fill
from lake_assets_tests.catalog.servers import run_metastore

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def metastore(runtime, tmp_path_factory):
    with run_metastore(runtime.java.executable, tmp_path_factory.mktemp("metastore")) as url:
        yield url


@pytest.fixture
def lake(settings, metastore, tmp_path):
    """A lake in a folder whose name Hadoop and addresses write differently."""
    told = with_catalog(settings, kind=CatalogKind.HIVE, url=metastore, databases="play_{layer}")
    lake = told.model_copy(update={"home": tmp_path / "a home"})
    fill(lake)
    yield lake
    with open_catalog(lake) as catalog:
        for table in registered_tables(lake):
            catalog.drop(table)


@pytest.fixture
def client(lake):
    """Somebody else at the same metastore."""
    found = HiveClient(lake.catalog)
    yield found
    found.close()


def raw(client, table):
    with client.calling() as metastore:
        return metastore.get_table("play_silver", table.name)


def test_tables_are_registered_as_engines_know_them_and_kept_as_the_lake_is(lake, client):
    assert len(sync(lake, [FEED]).actions) == 4 + 6
    assert (sync(lake, [FEED]).actions, sync(lake, [FEED]).unchanged) == ((), 6)
    add_tags(lake, UNO)
    # A type that the metastore would not change: it is registered anew.
    text = pa.table({"kind": ["a"], "ante": ["many"]})
    write_deltalake(lake.lake_dir / POKER.relative, text, mode="overwrite", schema_mode="overwrite")
    changed = {one.table.name: one.why for one in sync(lake, [FEED]).actions}
    assert changed == {
        UNO.name: "has a new column tags",
        POKER.name: "has ante as string, not int",
    }
    assert sync(lake, [FEED]).actions == ()
    told = raw(client, UNO)
    assert (told.tableType, told.owner) == ("EXTERNAL_TABLE", "lake_assets")
    assert told.parameters["spark.sql.sources.provider"] == "delta"
    place = str(lake.lake_dir / UNO.relative)
    assert told.sd.serdeInfo.parameters["path"] == f"file://{place}"
    assert told.sd.location == f"file:{place}"
    assert not (lake.home.parent / "a%20home").exists()


def test_what_others_wrote_at_an_entry_stays_and_so_do_tables_of_others(lake, client):
    sync(lake, [FEED])
    with open_catalog(lake) as catalog:
        told = raw(client, UNO)
        told.parameters = {**told.parameters, "team": "blue"}
        with client.calling() as metastore:
            metastore.alter_table("play_silver", UNO.name, told)
        (mine,) = [one for one in registered_tables(lake) if one.name == POKER.name]
        catalog.drop(mine)
        theirs = replace(mine, properties={}, location="file:///elsewhere/poker")
        catalog.create(theirs)
    add_tags(lake, UNO)
    synced = sync(lake, [FEED])
    assert [one.table.name for one in synced.actions] == [UNO.name]
    assert "is registered by somebody else, at file:///elsewhere/poker" in str(synced.conflicts[0])
    with open_catalog(lake) as catalog:
        assert raw(client, UNO).parameters["team"] == "blue"
        catalog.drop(theirs)


def test_what_it_refuses_is_told_in_its_words(client):
    storage = words.StorageDescriptor(cols=[], serdeInfo=words.SerDeInfo(), parameters={})
    table = words.Table(tableName="x", dbName="no_such_database", sd=storage)

    def create():
        with client.calling() as metastore:
            metastore.create_table(table)

    with pytest.raises(CatalogError, match=r"refuses \(InvalidObjectException: .*no_such_database"):
        create()


def test_it_keeps_no_permissions(lake):
    granted = {"grants": [{"principal": "analysts", "layers": ["gold"]}]}
    feed = Feed.model_validate({**FEED.model_dump(), **granted})
    assert sync(lake, [feed]).grants == ()
    with pytest.raises(CatalogError, match="keeps no permissions that engines ask for"):
        look_at_grants(lake, [feed])
