import json
import threading
from types import SimpleNamespace

import pytest

from lake_assets.state.stream_stops import StreamStop, StreamStoppedError, forget_stop, note_stop
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.pipeline import Pipeline
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES

# Two feeds in one process. One is stopped: the other goes on, and the first goes on where it was
# once it is started.
_RUN = """
import json, sys, time
from contextlib import closing
from deltalake import DeltaTable
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Stage, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.streams.run import stream_events
from lake_assets.streams.stop_request import await_stopped, start_streams, stop_streams
from lake_assets.streams.stream_standing import standing_of
from lake_assets_tests.events import Topic, framed

settings = Settings.model_validate_json(sys.argv[1])
endpoints = Endpoints(kafka=sys.argv[2], registry=sys.argv[3])
feeds = [Feed.model_validate_json(text) for text in sys.argv[4:6]]
topics = [Topic(endpoints, feed.source.kafka.topic) for feed in feeds]
ids = [int(text) for text in sys.argv[6:8]]
rows, said, reasons = {}, {}, []

def take(events, until):
    for event in events:
        if isinstance(event, BatchReport) and event.stage is Stage.DEMUX:
            rows[event.feed] = rows.get(event.feed, 0) + sum(event.rows.values())
        if isinstance(event, Waiting):
            reasons.append(event.reason)
        if until():
            return

def states():
    return [str(standing_of(settings, feed).state) for feed in feeds]

events = stream_events(settings, feeds, endpoints, owner="a test")
with closing(events):
    take(events, lambda: rows == {"first": 1, "second": 1})
    stop_streams(settings, feeds[:1], by="a test", reason="to see")
    take(events, lambda: states() == ["stopped", "running"])
    said["awaited"] = str(await_stopped(settings, "first"))
    for topic, schema_id in zip(topics, ids):
        topic.produce(framed(schema_id), framed(schema_id))
    take(events, lambda: rows["second"] == 3)
    said["beside"] = dict(rows)
    start_streams(settings, feeds)
    take(events, lambda: rows["first"] == 3)
    said["started"] = states()
said["reasons"] = reasons
print(json.dumps(said))
"""


@pytest.mark.spark
@pytest.mark.kafka
def test_a_stopped_stream_stands_still_beside_others_and_goes_on_where_it_was(services, tmp_path):
    topics = [Topic(services), Topic(services)]
    feeds, ids = [], []
    for topic, name, key in zip(topics, ("first", "second"), ("chess", "go"), strict=True):
        ids.append(topic.register(0))
        topic.produce(framed(ids[-1]))
        route = topic.feed().route.model_copy(update={"keys": (key,)})
        feeds.append(topic.feed(feed=name, route=route).model_dump_json())
    home = json.dumps({"home": str(tmp_path)})
    places = [home, services.kafka, services.registry]
    said = json.loads(run_program(_RUN, [*places, *feeds, *map(str, ids)]))
    assert said["awaited"].startswith("it stands still")
    assert said["beside"] == {"first": 1, "second": 3}
    assert said["started"] == ["running", "running"]
    assert any("stopped deliberately by a test" in reason for reason in said["reasons"])


class NoSpark:
    """Is asked for nothing but a session of the feed's own."""

    def newSession(self):  # noqa: N802 - Spark's name
        return self


@pytest.fixture
def begun(settings):
    """The streams of a feed in a thread, as far as they come without Spark; and what they told."""
    ends = []

    def begin(feed=GAMES, *, until_caught_up=False):
        told, stop = [], threading.Event()
        pipeline = Pipeline(
            session=NoSpark(),
            endpoints=NOWHERE,
            context=SimpleNamespace(lake=lake_of(settings)),
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=told.append,
        )
        streams = FeedStreams(
            pipeline=pipeline,
            settings=settings,
            feed=feed,
            until_caught_up=until_caught_up,
            announce=told.append,
            stop=stop,
            goes_on=lambda: False,
        )
        thread = threading.Thread(target=streams.run)
        thread.start()
        ends.append((stop, thread))
        return streams, thread, told

    yield begin
    for stop, thread in ends:
        stop.set()
        thread.join()


def test_a_feed_that_is_stopped_before_it_begins_stands_still_and_gets_on_all_the_same(
    settings, begun
):
    note_stop(settings.state_dir, "games", StreamStop(by="anna"))
    streams, thread, told = begun()
    wait_for(lambda: streams.stopped_by, "its standing still", within_s=120)
    began = streams.progressed_at
    wait_for(lambda: streams.progressed_at > began, "a sign that it lives", within_s=120)
    assert thread.is_alive()
    assert [one.reason for one in told] == [str(StreamStoppedError({"games": streams.stopped_by}))]
    forget_stop(settings.state_dir, "games")
    wait_for(
        lambda: not thread.is_alive(), "its start, which fails for lack of Spark", within_s=120
    )
    assert streams.stopped_by is None


def test_whoever_asked_for_all_rows_of_a_stopped_feed_is_told(settings, begun):
    note_stop(settings.state_dir, "games", StreamStop(by="anna"))
    streams, thread, _ = begun(until_caught_up=True)
    thread.join(10)
    assert isinstance(streams.failure, StreamStoppedError)


def test_a_feed_with_a_schedule_is_not_stopped_so(settings, begun):
    note_stop(settings.state_dir, "games", StreamStop(by="anna"))
    hourly = GAMES.model_copy(update={"run": "0 * * * *"})
    streams, thread, _ = begun(hourly, until_caught_up=True)
    thread.join(10)
    assert not isinstance(streams.failure, StreamStoppedError)
    assert streams.stopped_by is None
