from datetime import UTC, datetime

from lake_assets.logs.durations import recent_refreshes
from lake_assets.logs.entries import SCHEMAS, Entry
from lake_assets.logs.write import append
from lake_assets.model.tables import STREAM_LOG
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of

AT = datetime(2026, 11, 24, tzinfo=UTC).timestamp()


def entry(stage, view, at, seconds):
    row = {
        "feed": "games",
        "stage": stage,
        "view": view,
        "time": round(at * 1_000_000),
        "is_committed": True,
        "seconds": seconds,
    }
    return Entry(mark=None, rows={STREAM_LOG.name: [row]})


def test_refreshes_are_told_apart_from_batches_and_by_view(settings):
    assert recent_refreshes(lake_of(settings)) == {}
    assert STREAM_LOG in SCHEMAS
    entries = [
        entry("refresh", "top", AT, 3.0),
        entry("refresh", "top", AT + 60, 4.0),
        entry("refresh", "all", AT, 9.0),
        entry("ingest", None, AT, 1.0),
    ]
    with open_lake(settings) as context:
        append(context, entries)
    found = recent_refreshes(lake_of(settings))
    assert sorted(found["games", "top"]) == [(AT, 3.0), (AT + 60, 4.0)]
    assert found["games", "all"] == [(AT, 9.0)]
    assert len(found) == 2


def test_only_the_newest_files_are_read(settings):
    with open_lake(settings) as context:
        for number in range(25):
            append(context, [entry("refresh", "top", AT + number, float(number))])
    assert len(recent_refreshes(lake_of(settings))["games", "top"]) == 20
