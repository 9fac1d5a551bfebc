import json
import queue
import threading

import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError, StreamError
from lake_assets.gold.run import Warm
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import BatchReport, GoldRefreshed, Stage, ViewFailed
from lake_assets.model.tables import EVERY_KEY
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.live_gold import LiveGold
from lake_assets_tests.events import Topic
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES, WITHOUT_ROUTE

# Streams with a live view, one that fails, and one that is refreshed when somebody asks; then, in a
# second life, streams that end when they have caught up.
_JOURNEY = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

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
from lake_assets_tests.table_logs import rows_in

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
    return sorted(rows_in(folder).to_pylist(), key=str)

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
log = rows_in(settings.lake_dir / STREAM_LOG.relative).to_pylist()
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


AGG = GoldView(name="agg", keys=["gamer_id"], measures={"n": "count(*)"}, refresh="live")
TOTAL = GoldView(name="total", sql="select sum(n) as n from gold_all.agg", refresh="live")
ASKED = GoldView(name="asked", sql="select n * 2 as n from gold_all.total")
CHAIN = GAMES.model_copy(update={"gold": (ASKED, TOTAL, AGG)})
CLICKS = WITHOUT_ROUTE.model_copy(update={"gold": ()})
CLICKERS = GoldView(name="clickers", sql="select count(*) as n from clicks.silver", refresh="live")


@pytest.fixture
def live(settings, spark):
    """Runs the threads of some feeds' views; gives them and what they tell."""
    running = []
    with open_lake(settings, spark) as context:

        def start(*feeds):
            events = queue.SimpleQueue()
            warm = Warm(session=spark, context=context, keep=lambda _: None)
            running.append(LiveGold(settings, [f.beside(feeds) for f in feeds], warm, events.put))
            running[-1].start()
            return running[-1], events

        yield start
        for gold in running:
            gold.stop()


def batch(feed):
    return BatchReport(feed=feed.feed, stage=Stage.DEMUX, batch_id=0, rows={"x": 1})


def refreshed(events):
    """The next view that wrote something."""
    while True:
        event = events.get(timeout=120)
        assert isinstance(event, GoldRefreshed), event
        for report in event.refreshed.reports:
            if report.refreshed:
                return report.refreshed[0].view


@pytest.fixture
def count(settings):
    def read(feed, view, scope=EVERY_KEY):
        folder = settings.lake_dir / feed.gold_table(view, scope).relative
        return DeltaTable(folder).to_pyarrow_table()["n"].to_pylist()

    return read


@pytest.mark.spark
def test_a_live_view_follows_the_one_that_it_reads(settings, live, count):
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    gold, events = live(CHAIN)
    assert [refreshed(events), refreshed(events)] == ["agg", "total"]
    assert count(CHAIN, TOTAL) == [2]
    add_silver(settings.lake_dir, "go_fish", "cid", start=20)
    gold.note(batch(CHAIN))
    assert [refreshed(events), refreshed(events)] == ["agg", "total"]
    assert count(CHAIN, TOTAL) == [3]


@pytest.mark.spark
def test_views_that_are_asked_for_together_are_refreshed_in_order(settings, live, count):
    by_hand = [view.model_copy(update={"refresh": None}) for view in CHAIN.gold]
    feed = CHAIN.model_copy(update={"gold": tuple(by_hand)})
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    gold, _ = live(feed)
    answers = gold.ask("games", ["asked", "total", "agg"], None)
    assert {
        one.view
        for answer in answers
        for report in answer.result(120).reports
        for one in report.refreshed
    } == {"asked", "total", "agg"}
    assert count(feed, ASKED) == [4]


@pytest.mark.spark
def test_what_is_asked_for_with_a_view_that_fails_is_left_as_it_is(settings, live):
    broken = AGG.model_copy(update={"measures": {"n": "count(nothing)"}, "refresh": None})
    total = TOTAL.model_copy(update={"refresh": None})
    feed = CHAIN.model_copy(update={"gold": (total, broken)})
    add_silver(settings.lake_dir, "uno", "ann")
    gold, _ = live(feed)
    for answer in gold.ask("games", ["total", "agg"], None):
        assert isinstance(answer.exception(120), FeedError)
    assert not (settings.lake_dir / feed.gold_table(total, EVERY_KEY).relative).exists()


@pytest.mark.spark
def test_a_live_view_follows_what_comes_to_another_feeds_silver(settings, live, count):
    reader = GAMES.model_copy(update={"gold": (CLICKERS,)})
    add_silver(settings.lake_dir, "clicks", "ann", feed=CLICKS)
    gold, events = live(reader, CLICKS)
    assert refreshed(events) == "clickers"
    add_silver(settings.lake_dir, "clicks", "bob", start=20, feed=CLICKS)
    gold.note(batch(CLICKS))
    assert refreshed(events) == "clickers"
    assert count(reader, CLICKERS) == [2]


@pytest.mark.spark
def test_a_live_view_follows_each_feed_that_fills_the_tables_that_it_reads(settings, live, count):
    reader = GAMES.model_copy(update={"gold": (CLICKERS,)})
    flow = CLICKS.model_copy(update={"feed": "twin", "into": "clicks"})
    add_silver(settings.lake_dir, "clicks", "ann", feed=CLICKS)
    gold, events = live(reader, CLICKS, flow)
    assert refreshed(events) == "clickers"
    add_silver(settings.lake_dir, "clicks", "bob", start=20, feed=CLICKS)
    gold.note(batch(flow))
    assert refreshed(events) == "clickers"
    assert count(reader, CLICKERS) == [2]


@pytest.mark.spark
def test_a_live_view_stays_as_it_is_while_one_that_it_reads_is_in_trouble(settings, live):
    """It would else meet silver of now with rows of before."""
    broken = AGG.model_copy(update={"measures": {"n": "count(nothing)"}})
    joined = GoldView(name="joined", sql="select 1 as n from silver, gold.agg", refresh="live")
    feed = CHAIN.model_copy(update={"gold": (joined, broken)})
    add_silver(settings.lake_dir, "uno", "ann")
    gold, events = live(feed)
    while not isinstance(failed := events.get(timeout=120), ViewFailed):
        pass  # `joined`, which waits for the other's first refresh
    assert failed.view == "agg"
    gold.note(batch(feed))
    with pytest.raises(StreamError, match=r"games\.joined cannot be refreshed") as told:
        gold.finish(threading.Event())
    assert "is left as it is: games.agg, which it reads, cannot be refreshed" in str(told.value)


def test_a_thread_that_outlives_the_stop_is_waited_for(settings):
    """An interpreter that ends while one is in native code dies of a signal."""
    warm = Warm(session=None, context=None, keep=lambda _: None)
    feed = CHAIN.model_copy(update={"gold": (AGG,)})
    gold = LiveGold(settings, [feed], warm, lambda _: None)
    (view,) = gold._views.values()  # noqa: SLF001 - its thread does what no view does
    goes_on, said = threading.Event(), []
    view._thread = threading.Thread(target=lambda: said.append(goes_on.wait(60)), daemon=True)  # noqa: SLF001
    view.start()
    gold.wait(0.0)
    assert said == []
    goes_on.set()
    gold.wait()
    assert said == [True]


def test_what_takes_too_long_is_cancelled_until_it_has_ended(settings, monkeypatch):
    """One cancel would miss what is between two jobs, or plans its next query."""
    cancelled = queue.SimpleQueue()
    monkeypatch.setattr(
        "lake_assets.streams.live_view.cancel_group", lambda *_: cancelled.put("again")
    )
    stream = settings.stream.model_copy(update={"view_timeout_s": 0.01})
    own = settings.model_copy(update={"stream": stream})
    warm = Warm(session=None, context=None, keep=lambda _: None)
    gold = LiveGold(own, [CHAIN.model_copy(update={"gold": (AGG,)})], warm, lambda _: None)
    (view,) = gold._views.values()  # noqa: SLF001
    with view._watched():  # noqa: SLF001
        for _ in range(3):
            assert cancelled.get(timeout=20)
