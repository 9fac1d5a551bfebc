from datetime import UTC, datetime

import pytest

from lake_assets.checks.checked_tables import silver_tables
from lake_assets.checks.measure import measure
from lake_assets.model.checks import Freshness, SilverCheck
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES

NEWEST = SilverCheck(name="f", freshness=Freshness(column="event_timestamp", max_age="1h"))
DEVICES = SilverCheck(name="d", unique=("device_id", "game_name"))


def test_nothing_asked_is_nothing_measured():
    assert measure(None, []) == {}


@pytest.mark.spark
def test_rows_tell_what_a_log_may_not(spark, settings):
    add_silver(settings.lake_dir, "uno", "ann", "bob", start=5)
    (uno,) = silver_tables(LocalStore.at(settings.lake_dir), GAMES, ["uno"], [NEWEST, DEVICES])
    found = measure(spark, [(uno, NEWEST), (uno, DEVICES)])
    assert found == {
        ("silver_uno_events", "f"): datetime(1970, 1, 1, 0, 0, 6, tzinfo=UTC),
        ("silver_uno_events", "d"): 1,  # nulls count as equal
    }
