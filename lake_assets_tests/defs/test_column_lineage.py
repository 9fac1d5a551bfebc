"""What silver's columns are made from, where Dagster's users look."""

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.silver import build
from lake_assets.silver.noted_columns import in_words, noted_columns, noted_columns_of
from lake_assets.state.select_notes import SelectedColumn, SelectNote, note_select
from lake_assets_tests.defs.webserver import told_columns
from lake_assets_tests.sample import GAMES, silver_of

SILVER = dg.AssetKey("silver_events")

SELECT = ("* except (gamer_id)", "upper(gamer_id) as gamer", "1 as one")

FEED = GAMES.model_copy(update={"select": SELECT})

COLUMNS = {
    "game_name": SelectedColumn(reads=("game_name",), is_copy=True),
    "gamer": SelectedColumn(reads=("device_id", "gamer_id"), is_copy=False),
    "one": SelectedColumn(reads=(), is_copy=False),
}


@pytest.fixture
def metadata(settings):
    rows = {"game_name": ["uno"], "gamer": ["G"], "one": [1], "_offset": [0]}
    write_deltalake(settings.lake_dir / silver_of("uno").relative, pa.table(rows))

    def of(feed):
        (spec,) = (s for s in build(settings, [feed]).resolve_all_asset_specs() if s.key == SILVER)
        return spec.metadata

    return of


def described(metadata):
    columns = metadata["dagster/column_schema"].value.columns
    return {column.name: column.description for column in columns}


def test_each_column_says_what_it_is_made_from(metadata, settings):
    note_select(settings.state_dir, "games", SelectNote(select=SELECT, columns=COLUMNS))
    assert described(metadata(FEED)) == {
        "game_name": "payload field game_name",
        "gamer": "computed from device_id, gamer_id",
        "one": "the same for all rows",
        "_offset": None,
    }


def test_columns_lead_to_the_fields_of_bronzes_values(metadata, settings):
    note_select(settings.state_dir, "games", SelectNote(select=SELECT, columns=COLUMNS))
    found = metadata(FEED)["dagster/column_lineage"].value
    bronze = dg.AssetKey("bronze_games")
    assert found.deps_by_column == {
        "game_name": [dg.TableColumnDep(bronze, "value.game_name")],
        "gamer": [
            dg.TableColumnDep(bronze, "value.device_id"),
            dg.TableColumnDep(bronze, "value.gamer_id"),
        ],
        "one": [],
        "_offset": [dg.TableColumnDep(bronze, "offset")],
    }


def test_without_a_select_columns_lead_to_the_fields_of_their_names(metadata):
    bronze = dg.AssetKey("bronze_games")
    found = metadata(GAMES)["dagster/column_lineage"].value.deps_by_column
    assert found == {
        "game_name": [dg.TableColumnDep(bronze, "value.game_name")],
        "gamer": [dg.TableColumnDep(bronze, "value.gamer")],
        "one": [dg.TableColumnDep(bronze, "value.one")],
        "_offset": [dg.TableColumnDep(bronze, "offset")],
    }
    by_code = GAMES.model_copy(update={"transform": "mine:make"})
    found = metadata(by_code)["dagster/column_lineage"].value.deps_by_column
    assert found == {"_offset": [dg.TableColumnDep(bronze, "offset")]}


@pytest.mark.parametrize("feed", [GAMES, FEED])
def test_without_a_note_of_these_items_nothing_is_told(metadata, settings, feed):
    old = SelectNote(select=("*",), columns=COLUMNS)
    note_select(settings.state_dir, "games", old)
    assert set(described(metadata(feed)).values()) == {None}
    lineage = metadata(feed)["dagster/column_lineage"].value.deps_by_column
    assert "value.device_id" not in {
        one.column_name for columns in lineage.values() for one in columns
    }


def test_the_webservers_graphql_tells_both(metadata, settings, tmp_path):
    note_select(settings.state_dir, "games", SelectNote(select=SELECT, columns=COLUMNS))
    assert metadata(FEED)
    words, deps = told_columns("silver", settings, FEED, SILVER, tmp_path)
    assert words["gamer"] == "computed from device_id, gamer_id"
    bronze = {"assetKey": {"path": ["bronze_games"]}}
    assert deps["game_name"] == [{**bronze, "columnName": "value.game_name"}]


def test_a_key_that_selects_for_itself_tells_what_its_own_columns_are(settings):
    selects = {"uno": ("upper(gamer_id) as gamer",)}
    feed = FEED.model_copy(update={"selects": selects})
    of_uno = {"gamer": SelectedColumn(reads=("gamer_id",), is_copy=False)}
    note = SelectNote(
        select=SELECT, columns=COLUMNS, selects=selects, by_key={"uno": of_uno, "": COLUMNS}
    )
    note_select(settings.state_dir, "games", note)
    assert in_words(noted_columns_of(settings, feed, "uno")) == {"gamer": "computed from gamer_id"}
    assert noted_columns_of(settings, feed, "poker") == COLUMNS
    assert noted_columns(settings, feed) == COLUMNS
    assert not noted_columns(settings, FEED)  # of another day
