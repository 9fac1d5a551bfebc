"""Tables outside the lake, where Dagster's users see what a view comes from."""

import dagster as dg
import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.defs import external, gold
from lake_assets.defs.column_lineage import LINEAGE
from lake_assets.defs.gold_lineage import view_lineage_metadata
from lake_assets.gold.column_lineage import view_lineage
from lake_assets.model.feeds import Feed
from lake_assets.storage.open_store import lake_of

PLAYERS = dg.AssetKey("external_play_players")


def feed_of(folder):
    sql = "select p.country, sum(s.ante) as ante from silver s join external.players p on true"
    return Feed.model_validate(
        {
            "feed": "play",
            "source": {"kafka": {"topic": "play"}},
            "payload": {"json": {"schema": "kind string, ante int"}},
            "external": {"players": {"delta": str(folder)}},
            "gold": [{"name": "countries", "sql": f"{sql} group by 1"}],
        }
    )


def test_a_view_comes_from_the_table_that_others_make(settings, tmp_path):
    write_deltalake(tmp_path / "players", pa.table({"country": ["se"]}))
    feed = feed_of(tmp_path / "players")
    (asset,) = external.build(settings, [feed]).resolve_all_asset_specs()
    assert (asset.key, asset.metadata["path"].path) == (PLAYERS, str(tmp_path / "players"))
    specs = {one.key: one for one in gold.build(settings, [feed]).resolve_all_asset_specs()}
    view = specs[dg.AssetKey("gold_play_countries")]
    assert PLAYERS in {dep.asset_key for dep in view.deps}
    told = view_lineage_metadata(
        settings, feed, view_lineage(lake_of(settings), feed, feed.gold[0])
    )
    (made_of,) = told[LINEAGE].value.deps_by_column["country"]
    assert made_of == dg.TableColumnDep(asset_key=PLAYERS, column_name="country")
