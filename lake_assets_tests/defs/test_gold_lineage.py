"""What gold's columns are made from, where Dagster's users look."""

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.gold import build
from lake_assets.defs.reports import events_of
from lake_assets.defs.told_columns import ToldColumns
from lake_assets.model.feeds import Feed
from lake_assets.streams.batch_totals import Change
from lake_assets_tests.defs.webserver import told_columns

FEED = Feed.model_validate(
    {
        "feed": "play",
        "source": {"kafka": {"topic": "play"}},
        "payload": {"json": {"schema": "kind string, ante int"}},
        "route": {"column": "kind", "keys": ["uno", "poker"]},
        "selects": {"poker": ["*", "ante / 100d as stake"]},
        "gold": [
            {"name": "best", "keys": ["kind"], "measures": {"total": "sum(ante)", "n": "count(*)"}},
            {
                "name": "share",
                "sql": "select b.kind, b.total / max(s.stake) as share from gold_all.best b "
                "join silver_all s on s.kind = b.kind group by all",
            },
        ],
    }
)

BEST, SHARE = dg.AssetKey("gold_play_best"), dg.AssetKey("gold_play_share")


@pytest.fixture
def lake(settings):
    """Where silver and gold have what the streams would give them."""
    best, share = FEED.gold
    rows = {"kind": ["a"], "ante": [1], "_offset": [0]}
    made = {
        FEED.silver_table("uno"): rows,
        FEED.silver_table("poker"): {**rows, "stake": [0.1]},
        FEED.gold_table(best, "uno"): {"kind": ["a"], "total": [1], "n": [1]},
        FEED.gold_table(best, "poker"): {"kind": ["a"], "total": [1], "n": [1]},
        FEED.gold_table(share, ""): {"kind": ["a"], "share": [0.1]},
    }
    for table, columns in made.items():
        write_deltalake(settings.lake_dir / table.relative, pa.table(columns))
    return settings


def metadata_of(settings, asset):
    (spec,) = (s for s in build(settings, [FEED]).resolve_all_asset_specs() if s.key == asset)
    return spec.metadata


def described(metadata):
    columns = metadata["dagster/column_schema"].value.columns
    return {column.name: column.description for column in columns}


def test_each_column_says_what_it_is_made_from(lake):
    assert described(metadata_of(lake, BEST)) == {
        "kind": "from silver.kind",
        "total": "from silver.ante",
        "n": "from no column",
    }


def test_columns_lead_to_silvers_and_to_other_views(lake):
    silver = dg.AssetKey("silver_play_events")
    best = metadata_of(lake, BEST)["dagster/column_lineage"].value.deps_by_column
    assert best == {
        "kind": [dg.TableColumnDep(silver, "kind")],
        "total": [dg.TableColumnDep(silver, "ante")],
        "n": [],
    }
    share = metadata_of(lake, SHARE)["dagster/column_lineage"].value.deps_by_column
    assert share == {
        "kind": [dg.TableColumnDep(BEST, "kind")],
        "share": [dg.TableColumnDep(BEST, "total"), dg.TableColumnDep(silver, "stake")],
    }


def test_a_materialization_says_the_same_in_words(lake):
    change = Change(feed="play", table=FEED.gold_table(FEED.gold[0], "uno"), key="uno")
    with dg.instance_for_test() as instance:
        told = events_of(lake, FEED, [change], instance, "run", ToldColumns())
        (event,) = (one for one in told if isinstance(one, dg.AssetMaterialization))
    assert event.asset_key == BEST
    assert described(event.metadata)["total"] == "from silver.ante"


def test_without_tables_nothing_is_told(settings):
    assert "dagster/column_lineage" not in metadata_of(settings, BEST)


def test_the_webservers_graphql_tells_both(lake, tmp_path):
    words, deps = told_columns("gold", lake, FEED, SHARE, tmp_path)
    assert words["share"] == "from gold_all.best.total, silver_all.stake"
    assert deps["kind"] == [{"assetKey": {"path": ["gold_play_best"]}, "columnName": "kind"}]
