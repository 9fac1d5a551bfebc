"""What a server is told of streams, over tables that were made without Spark."""

import pytest

from lake_assets.errors import StreamError
from lake_assets.lineage.emitter import emitter
from lake_assets.lineage.stream_runs import EVERY_S, StreamLineage, told_of_streams
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets_tests.catalog.lakes import FEED, POKER, UNO, fill

ENDPOINTS = Endpoints(kafka="broker:9092,other:9092", registry="http://registry")


@pytest.fixture
def lake(settings):
    fill(settings)
    return settings


def batch(stage=Stage.DEMUX, number=1, **rows):
    return BatchReport(feed="play", stage=stage, batch_id=number, rows=rows)


def told(events):
    return [(one["eventType"], one["job"]["name"], rows_of(one)) for one in events]


def rows_of(event):
    return {
        one["name"].rpartition("/")[2]: one["outputFacets"]["outputStatistics"]["rowCount"]
        for one in event["outputs"]
    }


def test_a_run_is_told_at_its_first_batch_then_once_a_minute_and_at_its_end(lake, keeper):
    now = [0.0]
    lineage = StreamLineage(emitter(), lake, [FEED], ENDPOINTS, clock=lambda: now[0])
    bronze, quarantine = bronze_of("play").name, quarantine_of("play").name
    lineage.batch(batch(Stage.INGEST, **{bronze: 7}))
    for number in range(1, 4):
        lineage.batch(batch(number=number, **{UNO.name: number, quarantine: 1}))
    now[0] = EVERY_S
    lineage.batch(batch(**{POKER.name: 10}))
    lineage.batch(batch(Stage.CATCH_UP, **{UNO.name: 100}))
    lineage.end()
    events = keeper.events(5)
    assert told(events) == [
        ("START", "play.ingest", {bronze: 7}),
        ("START", "play.demux", {quarantine: 1, UNO.name: 1}),
        ("RUNNING", "play.demux", {quarantine: 2, UNO.name: 5, POKER.name: 10}),
        ("COMPLETE", "play.ingest", {}),
        ("COMPLETE", "play.demux", {UNO.name: 100}),
    ]
    assert len({one["run"]["runId"] for one in events}) == 2
    assert [(one["namespace"], one["name"]) for one in events[0]["inputs"]] == [
        ("kafka://broker:9092", "plays")
    ]
    assert events[0]["outputs"][0]["name"] == events[1]["inputs"][0]["name"]
    assert events[1]["job"]["facets"]["jobType"]["processingType"] == "STREAMING"


def test_a_failure_of_the_streams_is_told(lake, keeper):
    def run():
        with told_of_streams(lake, [FEED], ENDPOINTS) as lineage:
            lineage.batch(batch(**{UNO.name: 1}))
            raise StreamError("streams", "ended", "Look")

    with pytest.raises(StreamError):
        run()
    start, fail = keeper.events(2)
    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert fail["run"]["facets"]["errorMessage"]["message"] == "streams: ended. Look"


def test_streams_that_are_told_to_end_are_complete(lake, keeper):
    def running():
        with told_of_streams(lake, [FEED], ENDPOINTS) as lineage:
            lineage.batch(batch(**{UNO.name: 1}))
            yield

    events = running()
    next(events)
    events.close()
    assert [one["eventType"] for one in keeper.events(2)] == ["START", "COMPLETE"]


def test_a_batch_that_was_refused_is_none(lake, keeper):
    with told_of_streams(lake, [FEED], ENDPOINTS) as lineage:
        refused = BatchReport(
            feed="play", stage=Stage.DEMUX, batch_id=1, rows={UNO.name: 1}, is_committed=False
        )
        lineage.batch(refused)
    assert keeper.told() == []
