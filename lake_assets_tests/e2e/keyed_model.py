"""A keyed table over whatever a random sequence made of silver, and what it is to hold."""

from collections.abc import Iterable

from pyspark.sql import SparkSession

from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed import Keyed
from lake_assets.model.keyed_views import with_deletes
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.where_lakes_are import handle_of

_LATEST = GoldView(
    name="latest", keyed=Keyed(by="device_id", order="_offset", deletes="_offset % 3 = 0")
)


def check_keyed(spark: SparkSession, settings: Settings, feed: Feed, keys: Iterable[str]) -> int:
    """Refresh the table of each key that has silver with devices, and hold it to silver's rows.

    Returns how many there were.
    """
    views = with_deletes([_LATEST], feed.source.origin.in_silver.identity)
    feed = feed.model_copy(update={"gold": views})
    silver = {key: handle_of(settings, feed.silver_table(key)) for key in keys}
    there = [
        key
        for key, table in silver.items()
        if table is not None and any(field.name == "device_id" for field in table.schema().fields)
    ]
    with open_lake(settings) as context:
        latest, deletes = views
        refresh_keyed(spark, feed, latest, there, context)
        refresh(spark, feed, deletes, there, context)
    for key in there:
        rows: dict[str, tuple[int, str, int]] = {}
        for row in silver[key].to_pyarrow_table().to_pylist():
            place = (row["_offset"], row["_topic"], row["_partition"])
            if row["device_id"] is not None:
                rows[row["device_id"]] = max(place, rows.get(row["device_id"], place))
        table = handle_of(settings, feed.gold_table(latest, key))
        found = {
            row["device_id"]: (row["_offset"], row["_topic"], row["_partition"])
            for row in table.to_pyarrow_table().to_pylist()
        }
        assert found == {device: place for device, place in rows.items() if place[0] % 3}
    return len(there)
