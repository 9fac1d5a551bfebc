"""The same of each kind of catalogue: what a lake has is there, and stays as the lake is."""

import json
import shutil
from dataclasses import replace
from uuid import uuid4

import boto3
import pytest
from deltalake import DeltaTable

from lake_assets.catalog.entries import LAKE, UPSTREAM
from lake_assets.catalog.plan import plan
from lake_assets.catalog.sync import open_catalog, registered_tables, sync
from lake_assets.catalog.wanted import wanted_tables
from lake_assets.errors import CatalogError, SettingsError
from lake_assets.model.owners import Owner
from lake_assets.settings.catalog import CatalogKind
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.catalog.conftest import with_catalog
from lake_assets_tests.catalog.lakes import FEED, POKER, ROWS, UNO, add_tags, fill, put


@pytest.fixture(params=["of_unity", "of_glue"])
def lake(request):
    """Settings of a lake with tables, and of a catalogue that has none of them."""
    settings = request.getfixturevalue(request.param)
    fill(settings)
    return settings


of_any_kind = pytest.mark.parametrize("lake", ["of_unity"], indirect=True)
"""Of what is decided without the catalogue."""


def names(settings):
    return [table.name for table in registered_tables(settings)]


def entry(settings, name):
    return next(table for table in registered_tables(settings) if table.name == name)


def test_all_tables_are_registered_and_then_left_alone(lake):
    first = sync(lake, [FEED])
    assert (len(first.actions), first.conflicts) == (4 + 6, ())
    assert names(lake) == [
        "bronze_play",
        "all_play_all_of_it",
        "gold_uno_best",
        "quarantine_play",
        "silver_poker_events",
        "silver_uno_events",
    ]
    again = sync(lake, [FEED])
    assert (again.actions, again.unchanged) == ((), 6)


def test_an_entry_that_became_somebody_elses_meanwhile_is_left_alone(lake, monkeypatch):
    sync(lake, [FEED])
    add_tags(lake, UNO)
    shutil.rmtree(lake.lake_dir / POKER.relative)
    theirs = replace(entry(lake, UNO.name), properties={})

    def meanwhile(*told, **how):
        """What another does between our look and what we do."""
        decided = plan(*told, **how)
        with open_catalog(lake) as catalog:
            catalog.drop(theirs)
            catalog.create(catalog.fitted(with_fields(theirs)))
        return decided

    monkeypatch.setattr("lake_assets.catalog.sync.plan", meanwhile)
    with pytest.raises(CatalogError, match="is somebody else's since a moment ago"):
        sync(lake, [FEED])
    monkeypatch.undo()
    (conflict,) = sync(lake, [FEED]).conflicts
    assert conflict.name == theirs.full_name


def with_fields(table):
    """An entry that was read, with what a new one needs."""
    field = json.dumps({"nullable": True})
    return replace(table, columns=tuple(replace(one, field=field) for one in table.columns))


def test_an_entry_tells_columns_place_and_where_rows_come_from(lake):
    sync(lake, [FEED])
    databases = lake.catalog.databases
    view = entry(lake, "gold_uno_best")
    assert [(one.name, one.type, one.comment) for one in view.columns] == [
        ("kind", "string", "from silver.kind"),
        ("total", "bigint", "from silver.ante"),
    ]
    assert view.location == f"{lake.lake_dir.as_uri()}/gold/gold_uno_best"
    assert view.comment == "Most that was staked."
    silver = databases.replace("{layer}", "silver")
    assert view.properties == {
        LAKE: lake_id(lake),
        UPSTREAM: f"{silver}.silver_uno_events",
        "lake_assets.owner": "lake_assets",
        "lake_assets.feed": "play",
        "lake_assets.key": "uno",
        "lake_assets.view": "best",
        "lake_assets.layer": "gold",
        "lake_assets.table": "gold_uno_best",
    }
    bronze, gold = (databases.replace("{layer}", layer) for layer in ("bronze", "gold"))
    of_silver = entry(lake, "silver_uno_events").properties
    assert of_silver[UPSTREAM] == f"{bronze}.bronze_play"
    of_all = entry(lake, "all_play_all_of_it").properties
    assert of_all[UPSTREAM] == f"{gold}.gold_{{key}}_best"
    assert entry(lake, "bronze_play").properties["lake_assets.source"] == "topic 'plays'"


def test_what_changes_in_the_lake_changes_there(lake):
    sync(lake, [FEED])
    add_tags(lake, UNO)
    shutil.rmtree(lake.lake_dir / POKER.relative)
    chess = FEED.silver_table("chess")
    put(lake, chess, ROWS, Owner(feed="play", key="chess"))
    planned = sync(lake, [FEED], dry_run=True)
    assert names(lake)[-1] == "silver_uno_events"
    changed = sync(lake, [FEED])
    assert changed == planned
    assert [(one.do, one.table.name, one.why) for one in changed.actions] == [
        ("drop", "silver_poker_events", "is not in the lake under this name"),
        ("create", "silver_chess_events", "is new"),
        ("update", "silver_uno_events", "has a new column tags"),
    ]
    last = entry(lake, "silver_uno_events").columns[-1]
    assert (last.name, last.type, last.comment) == (
        "tags",
        "array<string>",
        "what players call it",
    )
    assert sync(lake, [FEED]).actions == ()


@of_any_kind
def test_a_lake_that_was_moved_is_found_at_its_new_place(lake, tmp_path):
    sync(lake, [FEED])
    shutil.move(lake.lake_dir, tmp_path / "moved")
    moved = lake.model_copy(update={"lake": tmp_path / "moved"})
    assert {one.do for one in sync(moved, [FEED]).actions} == {"update"}
    assert entry(moved, "bronze_play").location == f"{tmp_path.as_uri()}/moved/bronze/bronze_play"


def test_what_another_lake_registered_is_left_alone_unless_it_is_taken_over(lake, tmp_path):
    sync(lake, [FEED])
    other = lake.model_copy(update={"home": tmp_path / "other"})
    fill(other)
    refused = sync(other, [FEED])
    assert (refused.actions, refused.unchanged, len(refused.conflicts)) == ((), 0, 6)
    assert f"is registered by lake {lake_id(lake)}" in str(refused.conflicts[0])
    assert len(names(lake)) == 6
    taken = sync(other, [FEED], take_over=True)
    assert {one.do for one in taken.actions} == {"update"}
    assert (names(lake), len(names(other))) == ([], 6)


def test_tables_of_others_are_left_alone_in_the_same_database(lake):
    with open_catalog(lake) as catalog:
        theirs = catalog.fitted(_like(lake, "theirs", UNO))
        mine = _like(lake, UNO.name, POKER)
        catalog.create_database(mine.database, "")
        for table in (theirs, mine):
            catalog.create(table)
    synced = sync(lake, [FEED])
    (conflict,) = synced.conflicts
    assert conflict.name.endswith(UNO.name)
    assert "is registered by somebody else, at file:///elsewhere/" in str(conflict)
    with open_catalog(lake) as catalog:
        kept = {table.name: table.lake for table in catalog.tables(theirs.database)}
    assert kept == {"theirs": "", UNO.name: "", POKER.name: lake_id(lake)}


def _like(settings, name, table):
    """An entry as somebody else makes it."""
    wanted = next(one for one in wanted_tables(settings, [FEED]) if one.name == table.name)
    location = f"file:///elsewhere/{uuid4()}"
    return replace(wanted, name=name, properties={}, location=location)


@of_any_kind
def test_databases_that_have_another_name_now_are_emptied(lake):
    sync(lake, [FEED])
    kind = lake.catalog.model_copy(update={"databases": f"other{uuid4().hex}_{{layer}}"})
    renamed = lake.model_copy(update={"catalog": kind})
    actions = [one.do for one in sync(renamed, [FEED]).actions]
    assert [actions.count(one) for one in ("create database", "drop", "create")] == [4, 6, 6]
    assert len(names(renamed)) == 6


@of_any_kind
def test_a_feed_that_is_declared_no_more_keeps_its_entries(lake):
    sync(lake, [FEED])
    assert {one.do for one in sync(lake, []).actions} == {"update"}
    assert len(names(lake)) == 6


def test_files_stay_whatever_happens_to_entries(lake):
    sync(lake, [FEED])
    with open_catalog(lake) as catalog:
        for table in registered_tables(lake):
            catalog.drop(table)
            catalog.drop(table)  # somebody else may have been first
    assert names(lake) == []
    assert DeltaTable(lake.lake_dir / UNO.relative).to_pyarrow_table().num_rows == 1
    assert len(sync(lake, [FEED]).actions) == 6


def test_without_a_catalogue_it_is_said_what_to_set(settings):
    with pytest.raises(SettingsError, match="LAKE_ASSETS_CATALOG_KIND: is not set"):
        sync(settings, [FEED])


@pytest.mark.parametrize("kind", CatalogKind)
def test_a_catalogue_that_does_not_answer_is_told(settings, kind):
    nowhere = with_catalog(
        settings,
        kind=kind,
        url="thrift://127.0.0.1:9" if kind is CatalogKind.HIVE else "http://127.0.0.1:9",
        options={"aws_region": "x", "aws_access_key_id": "k", "aws_secret_access_key": "s"}
        if kind is CatalogKind.GLUE
        else {},
    )
    with pytest.raises(CatalogError, match=r"does not answer .* Check "):
        sync(nowhere, [FEED])


def test_glue_keeps_what_others_wrote_at_an_entry(of_glue, s3):
    fill(of_glue)
    sync(of_glue, [FEED])
    database = of_glue.catalog.databases.replace("{layer}", "silver")
    glue = boto3.client("glue", endpoint_url=s3.url, region_name="us-east-1", **_keys())
    told = glue.get_table(DatabaseName=database, Name=UNO.name)["Table"]
    assert told["Owner"] == "lake_assets"
    assert told["Parameters"]["spark.sql.sources.provider"] == "delta"
    path = told["StorageDescriptor"]["SerdeInfo"]["Parameters"]["path"]
    assert path == told["StorageDescriptor"]["Location"]
    keep = ("Name", "TableType", "StorageDescriptor", "Parameters", "Description")
    changed = {name: told[name] for name in keep}
    changed["Parameters"] = {**told["Parameters"], "team": "blue", "lake_assets.feed": "x"}
    glue.update_table(DatabaseName=database, TableInput=changed)
    (action,) = sync(of_glue, [FEED]).actions
    assert action.why == "has other properties: lake_assets.feed"
    after = glue.get_table(DatabaseName=database, Name=UNO.name)["Table"]["Parameters"]
    assert (after["team"], after["lake_assets.feed"]) == ("blue", "play")


def _keys():
    return {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
