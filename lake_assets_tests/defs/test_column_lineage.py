"""What silver's columns are made from, where Dagster's users look."""

import json
import subprocess
import sys

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.silver import build
from lake_assets.settings.load import child_environment
from lake_assets.state.select_notes import SelectedColumn, SelectNote, note_select
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
    }


@pytest.mark.parametrize("feed", [GAMES, FEED])
def test_without_a_note_of_these_items_nothing_is_told(metadata, settings, feed):
    old = SelectNote(select=("*",), columns=COLUMNS)
    note_select(settings.state_dir, "games", old)
    assert set(described(metadata(feed)).values()) == {None}
    assert "dagster/column_lineage" not in metadata(feed)


_CODE = """
from lake_assets.defs.silver import build
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings

settings = Settings.model_validate_json({settings!r})
defs = build(settings, [Feed.model_validate_json({feed!r})])
"""

_ASK = "from dagster_graphql.cli import main; main()"

_QUERY = """
{
  assetNodes {
    assetKey { path }
    metadataEntries {
      ... on TableSchemaMetadataEntry { schema { columns { name description } } }
      ... on TableColumnLineageMetadataEntry {
        lineage { columnName columnDeps { assetKey { path } columnName } }
      }
    }
  }
}
"""


def test_the_webservers_graphql_tells_both(metadata, settings, tmp_path):
    note_select(settings.state_dir, "games", SelectNote(select=SELECT, columns=COLUMNS))
    assert metadata(FEED)
    file = tmp_path / "code.py"
    told = {"settings": settings.model_dump_json(), "feed": FEED.model_dump_json()}
    file.write_text(_CODE.format(**told))
    answer = subprocess.run(  # noqa: S603 - Dagster's own command
        [sys.executable, "-c", _ASK, "-f", str(file), "-t", _QUERY],
        env=child_environment(settings) | {"DAGSTER_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found, _ = json.JSONDecoder().raw_decode(answer.stdout, answer.stdout.index("{"))
    nodes = found["data"]["assetNodes"]
    (silver,) = (node for node in nodes if node["assetKey"]["path"] == SILVER.path)
    found = {}
    for entry in silver["metadataEntries"]:
        found |= entry.get("schema", {}) | {k: v for k, v in entry.items() if k == "lineage"}
    words = {column["name"]: column["description"] for column in found["columns"]}
    assert words["gamer"] == "computed from device_id, gamer_id"
    bronze = {"assetKey": {"path": ["bronze_games"]}}
    deps = {one["columnName"]: one["columnDeps"] for one in found["lineage"]}
    assert deps["game_name"] == [{**bronze, "columnName": "value.game_name"}]
