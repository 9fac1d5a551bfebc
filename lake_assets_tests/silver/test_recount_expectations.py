import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.model.reports import Judged
from lake_assets.model.routes import Route
from lake_assets.silver.recount_expectations import recheck
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, silver_of


def test_games_without_silver_need_no_spark(settings):
    assert recheck(settings, GAMES, ["uno"]) == {
        ("uno", "gamer_is_known"): Judged(seen=0, violated=0),
        ("uno", "device_is_known"): Judged(seen=0, violated=0),
    }


@pytest.mark.spark
def test_rows_are_counted_by_game_and_expectation(settings):
    devices = {"uno": ["d1", "", None], "go_fish": ["d2"]}
    for key, found in devices.items():
        rows = {"game_name": [key] * len(found), "gamer_id": ["g"] * len(found)}
        table = pa.table({**rows, "device_id": found})
        write_deltalake(settings.lake_dir / silver_of(key).relative, table)
    empty = table.slice(0, 0)
    write_deltalake(settings.lake_dir / silver_of("poker").relative, empty)
    assert recheck(settings, GAMES, ["uno", "go_fish", "poker"]) == {
        ("uno", "gamer_is_known"): Judged(seen=3, violated=0),
        ("uno", "device_is_known"): Judged(seen=3, violated=2),
        ("go_fish", "gamer_is_known"): Judged(seen=1, violated=0),
        ("go_fish", "device_is_known"): Judged(seen=1, violated=0),
        ("poker", "gamer_is_known"): Judged(seen=0, violated=0),
        ("poker", "device_is_known"): Judged(seen=0, violated=0),
    }


@pytest.mark.spark
def test_without_a_route_all_rows_are_of_the_one_key(settings):
    rows = pa.table({"gamer_id": ["g", "h"], "device_id": ["d", ""]})
    write_deltalake(settings.lake_dir / WITHOUT_ROUTE.silver_table("clicks").relative, rows)
    assert recheck(settings, WITHOUT_ROUTE, ["clicks"]) == {
        ("clicks", "gamer_is_known"): Judged(seen=2, violated=0),
        ("clicks", "device_is_known"): Judged(seen=2, violated=1),
    }


@pytest.mark.spark
def test_rows_whose_key_no_column_holds_are_counted_by_their_table(settings):
    feed = RENAMED.model_copy(update={"route": Route(header="game", keys=("uno", "go_fish"))})
    for key, devices in {"uno": ["d", ""], "go_fish": [""]}.items():
        rows = pa.table({"gamer_id": ["g"] * len(devices), "device_id": devices})
        write_deltalake(settings.lake_dir / feed.silver_table(key).relative, rows)
    counted = recheck(settings, feed, ["uno", "go_fish"])
    assert counted["uno", "device_is_known"] == Judged(seen=2, violated=1)
    assert counted["go_fish", "device_is_known"] == Judged(seen=1, violated=1)
