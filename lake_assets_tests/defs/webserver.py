"""What Dagster's GraphQL tells of an asset's columns, asked of a code location of its own."""

import json
import subprocess
import sys

from lake_assets.settings.load import child_environment

_CODE = """
from lake_assets.defs.{room} import build
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


def told_columns(room, settings, feed, asset, folder):
    """By column its words, and by column what it is made of, as a room of `defs` builds an asset.

    Args:
        room: the module of `lake_assets.defs`.
        settings: where the lake is.
        feed: whose asset.
        asset: its key.
        folder: empty; is Dagster's home.
    """
    file = folder / "code.py"
    told = {"settings": settings.model_dump_json(), "feed": feed.model_dump_json()}
    file.write_text(_CODE.format(room=room, **told))
    answer = subprocess.run(  # noqa: S603 - Dagster's own command
        [sys.executable, "-c", _ASK, "-f", str(file), "-t", _QUERY],
        env=child_environment(settings) | {"DAGSTER_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    found, _ = json.JSONDecoder().raw_decode(answer.stdout, answer.stdout.index("{"))
    nodes = found["data"]["assetNodes"]
    (node,) = (node for node in nodes if node["assetKey"]["path"] == asset.path)
    entries = {}
    for entry in node["metadataEntries"]:
        entries |= entry.get("schema", {}) | {k: v for k, v in entry.items() if k == "lineage"}
    words = {column["name"]: column["description"] for column in entries["columns"]}
    return words, {one["columnName"]: one["columnDeps"] for one in entries["lineage"]}
