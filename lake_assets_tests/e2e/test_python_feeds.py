"""The feeds that docs/python-transforms.md makes, seen by the streams and by Dagster."""

import json
import re
from pathlib import Path

import dagster as dg
import pytest
from deltalake import DeltaTable

from lake_assets.definitions import assemble
from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets_tests.commandline import lake_assets
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "python-transforms.md").read_text()

SHOPS = ("no", "se", "de")


@pytest.mark.timeout(900)
def test_the_streams_and_dagster_find_feeds_and_functions_beside_them(
    connected, services, tmp_path
):
    folder = tmp_path / "feeds"
    folder.mkdir()
    program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    topics = {shop: Topic(services) for shop in SHOPS}
    names = {shop: topic.name for shop, topic in topics.items()}
    own = program.replace('f"orders-{country}"', f"{names}[country]").replace(
        "shop_feeds:", "streamed_feeds:"
    )
    (folder / "streamed_feeds.py").write_text(own)
    for shop, topic in topics.items():
        rows = [{"order_id": shop, "price": 1.25}, {"order_id": shop, "price": -1}]
        topic.produce(*(json.dumps(row).encode() for row in rows), b"no json")
    settings = connected.model_copy(update={"feeds": folder})
    done = lake_assets(settings, "stream", "--until-caught-up")
    assert done.returncode == 0, done.stderr
    feeds = load_feeds(folder)
    for feed in feeds:
        table = settings.lake_dir / feed.silver_table(feed.feed).relative
        (row,) = DeltaTable(table).to_pyarrow_table().to_pylist()
        assert (row["order_id"], row["cents"]) == (feed.feed.removeprefix("shop_"), 125)
        refused = settings.lake_dir / quarantine_of(feed.feed).relative
        reasons = DeltaTable(refused).to_pyarrow_table()["reason"].to_pylist()
        assert sorted(reasons) == ["expectation", "undecodable"]
    graph = assemble(settings, feeds).get_repository_def().asset_graph
    seen = {key.to_user_string() for key in graph.get_all_asset_keys()}
    assert {f"bronze_shop_{shop}" for shop in SHOPS} <= seen
    told = graph.get(dg.AssetKey("silver_shop_no_events")).metadata["transform"]
    assert getattr(told, "value", told) == "streamed_feeds:in_cents"
