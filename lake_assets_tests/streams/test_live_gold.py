import json

import pytest

from lake_assets_tests.events import Topic
from lake_assets_tests.programs import run_program

# Streams with a live view, one that fails, and one that is refreshed when somebody asks; then, in a
# second life, streams that end when they have caught up.
_JOURNEY = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from deltalake import DeltaTable

from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.model.tables import STREAM_LOG
from lake_assets.settings.schema import Settings
from lake_assets.state.files import read_heartbeat
from lake_assets.model.reports import GoldRefreshed, ViewFailed
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.run import stream_events
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import GAMES

settings = Settings.model_validate_json(sys.argv[1])
topic = Topic(Endpoints(kafka=sys.argv[2], registry=sys.argv[3]), sys.argv[4])
live = GAMES.gold[0].model_copy(update={"refresh": timedelta(0)})
broken = GoldView(name="broken", sql="select raise_error('no') as a from silver", refresh="live")
asked = GoldView(name="asked", sql="select gamer_id from silver")
feed = topic.feed(gold=(live, broken, asked))
known = topic.register(0)
said = {"failed": [], "rows": []}

def gold(view):
    folder = settings.lake_dir / feed.gold_table(view, "uno").relative
    return sorted(DeltaTable(folder).to_pyarrow_table().to_pylist(), key=str)

def run(rows, **how):
    for gamer in rows:
        topic.produce(framed(known, gamer=gamer))
    return stream_events(settings, [feed], topic.endpoints, owner="a test", **how)

with ThreadPoolExecutor(1) as pool:
    events, request = run(["ann"]), None
    for event in events:
        if isinstance(event, ViewFailed) and not said["failed"]:
            said["failed"].append([event.view, "no" in event.reason, "tried again" in event.reason])
            topic.produce(framed(known, gamer="bob"))
        if isinstance(event, BatchReport) and event.stage is Stage.DEMUX:
            said["rows"].append(dict(event.rows))
        if isinstance(event, GoldRefreshed):
            (report,) = event.refreshed.reports
            said["refreshed"] = [report.refreshed[0].view, report.refreshed[0].mode]
            is_done = len(gold(live)) == 2
            if is_done and request is None:
                request = pool.submit(refresh_gold, settings, feed, views=["asked"])
        if request is not None and request.done() and said["failed"]:
            break
    said["beat"] = sorted(read_heartbeat(settings.state_dir).refreshing)
    events.close()
    (report,) = request.result().reports
said["asked"] = [gold(asked), report.refreshed[0].view, report.seconds["session"]]
said["live"] = gold(live)

try:
    for event in run(["cid", "ann"], until_caught_up=True):
        pass
except StreamError as problem:
    said["ended"] = str(problem)
said["caught_up"] = gold(live)
log = DeltaTable(settings.lake_dir / STREAM_LOG.relative).to_pyarrow_table().to_pylist()
said["logged"] = sorted({row["view"] for row in log if row["stage"] == "refresh"})
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(services, tmp_path_factory):
    home = json.dumps({"home": str(tmp_path_factory.mktemp("home"))})
    arguments = (home, services.kafka, services.registry, Topic(services).name)
    return json.loads(run_program(_JOURNEY, arguments))


@pytest.mark.spark
@pytest.mark.kafka
def test_a_live_view_follows_silver(said):
    assert said["live"] == [
        {"gamer_id": "ann", "session_count": 1},
        {"gamer_id": "bob", "session_count": 1},
    ]
    assert said["refreshed"] == ["player_agg", "incremental"]


@pytest.mark.spark
@pytest.mark.kafka
def test_a_view_that_fails_is_told_of_and_stops_nothing(said):
    assert said["failed"] == [["broken", True, True]]
    assert said["rows"] == [{"silver_uno_events": 1}, {"silver_uno_events": 1}]


@pytest.mark.spark
@pytest.mark.kafka
def test_a_view_is_refreshed_in_the_streams_spark_when_it_is_asked_for(said):
    rows, view, session_s = said["asked"]
    assert rows == [{"gamer_id": "ann"}, {"gamer_id": "bob"}]
    assert (view, session_s) == ("asked", 0)


@pytest.mark.spark
@pytest.mark.kafka
def test_streams_that_end_by_themselves_leave_live_views_up_to_date(said):
    assert said["caught_up"] == [
        {"gamer_id": "ann", "session_count": 2},
        {"gamer_id": "bob", "session_count": 1},
        {"gamer_id": "cid", "session_count": 1},
    ]
    assert said["ended"].startswith("gold: games.broken cannot be refreshed (")


@pytest.mark.spark
@pytest.mark.kafka
def test_refreshes_are_logged(said):
    assert said["logged"] == ["asked", "player_agg"]
