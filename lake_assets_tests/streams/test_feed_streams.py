import json

import pytest

from lake_assets.streams.triggers import retry_delay_s
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES

# Two feeds: one that cannot run, and one that gets rows while the first fails. They end when the
# second has them.
_RUN = """
import json, sys
from contextlib import closing
from lake_assets.state.files import read_heartbeat
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Stage, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.streams.run import stream_events

settings = Settings.model_validate_json(sys.argv[1])
endpoints = Endpoints(kafka=sys.argv[2], registry=sys.argv[3])
feeds = [Feed.model_validate_json(text) for text in sys.argv[5:]]
said = {"rows": 0, "reasons": {}, "beats": []}
caught_up = sys.argv[4] == "caught up"
events = stream_events(settings, feeds, endpoints, owner="a test", until_caught_up=caught_up)
try:
    with closing(events):
        for event in events:
            if isinstance(event, Waiting):
                said["reasons"].setdefault(event.feed, []).append(event.reason)
            if isinstance(event, BatchReport) and event.stage is Stage.DEMUX:
                said["rows"] += sum(event.rows.values())
            beat = read_heartbeat(settings.state_dir)
            if beat and beat.waiting_for and beat.waiting_for not in said["beats"]:
                said["beats"].append(beat.waiting_for)
            if not caught_up and said["rows"] and len(said["reasons"]) == len(feeds) - 1:
                break
except Exception as problem:
    said["failed"] = str(problem)
print(json.dumps(said))
"""

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

BAD_SQL = GAMES.expectations[0].model_copy(update={"sql": "nothing > 1"})


@pytest.fixture
def run(services, tmp_path):
    def go(how, *feeds):
        arguments = [json.dumps({"home": str(tmp_path)}), services.kafka, services.registry, how]
        texts = [feed.model_dump_json() for feed in feeds]
        return json.loads(run_program(_RUN, [*arguments, *texts]))

    return go


def good_and_bad(services):
    topic = Topic(services)
    topic.produce(framed(topic.register(0)))
    bad = topic.feed(feed="bad", expectations=(BAD_SQL,), route=route_of("chess"))
    lost = Topic(services, "nowhere-to-be-found").feed(feed="lost", route=route_of("go"))
    return topic.feed(), bad, lost


def route_of(key):
    return GAMES.route.model_copy(update={"keys": (key,)})


def test_a_feed_that_fails_and_one_without_a_topic_hold_up_no_other(run, services):
    said = run("live", *good_and_bad(services))
    assert (said["rows"], said.get("failed")) == (1, None)
    assert "feed 'bad' failed" in said["reasons"]["bad"][0]
    assert "topic 'nowhere-to-be-found': does not exist" in said["reasons"]["lost"][0]


def test_a_caught_up_feed_is_done_though_another_fails_and_the_failure_is_told(run, services):
    good, bad, _ = good_and_bad(services)
    said = run("caught up", bad, good)
    assert said["rows"] == 1
    assert "expectation 'gamer_is_known': does not compile" in said["failed"]


def test_pauses_between_failures_grow_up_to_two_minutes():
    assert [retry_delay_s(n) for n in (1, 2, 3, 7, 10_000)] == [2.0, 4.0, 8.0, 120.0, 120.0]
