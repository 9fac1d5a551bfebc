import json

import pytest

from lake_assets_tests.programs import run_program

# Feeds with a schedule and one without. First no streams run, and two runs begin together; then
# streams run the one without, and are asked for runs of the others until they end.
_JOURNEY = """
import json, sys, threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from lake_assets.errors import LakeAssetsError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import BatchReport, GoldRefreshed, Stage, ViewFailed, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.state.run_notes import run_note_of
from lake_assets.streams.run import Tick, stream_events
from lake_assets.streams.run_feed import run_feed
from lake_assets.streams.run_need import is_run_needed
from lake_assets.streams.run_requests import folder_of
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import GAMES
from lake_assets_tests.table_logs import rows_in

settings = Settings.model_validate_json(sys.argv[1])
endpoints = Endpoints(kafka=sys.argv[2], registry=sys.argv[3])
live = GAMES.gold[0].model_copy(update={"refresh": timedelta(0)})
scheduled = GoldView(name="scheduled", sql="select gamer_id from silver", schedule="0 0 1 1 *")
bad_sql = GAMES.expectations[0].model_copy(update={"sql": "nothing > 1"})
topics, known = {}, {}
for name in ("a", "b", "c", "bad"):
    topics[name] = Topic(endpoints)
    known[name] = topics[name].register(0)

def declared(name, key, **changes):
    route = GAMES.route.model_copy(update={"keys": (key,)})
    own = {"run": "0 0 1 1 *", "route": route, "gold": ()}
    return topics[name].feed(feed=name, **{**own, **changes})

A = declared("a", "uno", gold=(live, scheduled))
B = declared("b", "go", run=None)
C = declared("c", "chess")
BAD = declared("bad", "poker", expectations=(bad_sql,))
FEEDS = [feed.beside([A, B, C, BAD]) for feed in (A, B, C, BAD)]
A, B, C, BAD = FEEDS
KEYS = {"a": "uno", "b": "go", "c": "chess", "bad": "poker"}
said = {}

def produce(name, *gamers):
    topics[name].produce(*(framed(known[name], KEYS[name], gamer=gamer) for gamer in gamers))

def gamers(table):
    folder = settings.lake_dir / table.relative
    return sorted(rows_in(folder)["gamer_id"].to_pylist()) if folder.exists() else []

def silver(feed):
    return gamers(feed.silver_table(KEYS[feed.feed]))

def gold(view):
    return gamers(A.gold_table(view, "uno"))

def run(feed, seen=lambda _: None, **how):
    told = Counter()
    for event in run_feed(settings, FEEDS, feed, lambda: endpoints, owner="a run", **how):
        seen(event)
        if isinstance(event, BatchReport):
            told[f"{event.feed} {event.stage}"] += sum(event.rows.values())
            said["judged"] = sorted(name for _, name in event.judged) or said.get("judged")
        elif not isinstance(event, Tick):
            told[f"{event.feed} {type(event).__name__}"] += 1
            if isinstance(event, Waiting):
                said["waiting"] = event.reason
    return dict(told)

def failed(*args, **how):
    try:
        return run(*args, **how)
    except LakeAssetsError as problem:
        return [type(problem).__name__, str(problem)]

with ThreadPoolExecutor(2) as pool:
    produce("a", "ann")
    produce("c", "cid")
    produce("b", "bob")
    others = []
    def begin_another(_):
        if not others:
            assert is_locked(settings.state_dir)
            others.append(pool.submit(run, C))
    owners = []
    def seen(event):
        begin_another(event)
        if isinstance(event, BatchReport) and event.stage is Stage.INGEST:
            produce("a", "late")  # after the end of the run was fixed
        beat = read_heartbeat(settings.state_dir)
        owners.append(beat and beat.owner)
    said["own"] = run(A, seen)
    said["other"] = others[0].result()
    said["owner"] = owners[-1]
    said["own_rows"] = [silver(A), gold(live), gold(scheduled), silver(C), silver(B)]
    said["noted"] = run_note_of(settings.state_dir, "a").complete_at is not None
    said["needed"] = [is_run_needed(settings, feed, endpoints) for feed in (A, B, C)]
    said["nothing_new"] = run(C)

    produce("a", "eve")
    events = stream_events(settings, FEEDS, endpoints, owner="streams")
    steps, followed = [], Counter()
    for event in events:
        if isinstance(event, BatchReport):
            followed[event.feed] += 1
        if not steps and "b" in followed:
            said["before"] = silver(A)
            steps.append(pool.submit(run, A))
        if len(steps) == 1 and steps[0].done():
            said["beside"] = steps[0].result()
            said["beside_rows"] = [silver(A), gold(live), silver(B)]
            changed = A.model_copy(update={"expectations": ()}).beside(FEEDS)
            steps.append(pool.submit(failed, changed))
        if len(steps) == 2 and steps[1].done():
            said["changed"] = steps[1].result()
            steps.append(pool.submit(run, B))
        if len(steps) == 3 and steps[2].done():
            said["followed"] = steps[2].result()
            produce("bad", "ann")
            steps.append(pool.submit(failed, BAD))
        if len(steps) == 4 and steps[3].done():
            said["bad"] = steps[3].result()
            said["bad_noted"] = run_note_of(settings.state_dir, "bad").why
            produce("a", "fay")
            taken = threading.Event()
            def note(event):
                if any(folder_of(settings).glob("*.taken")):
                    taken.set()
            steps.append(pool.submit(run, A, note))
        if len(steps) == 5 and taken.is_set():
            break
    events.close()
    said["streams_told"] = sorted(followed)
    said["gone_on"] = steps[4].result()
    said["in_the_end"] = [silver(A), gold(live)]
    topics["c"].delete()
    produce("c", "dan")  # another topic, which ends where the one before did
    said["needed_again"] = is_run_needed(settings, C, endpoints)
    said["left"] = [path.name for path in folder_of(settings).iterdir()]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(services, tmp_path_factory):
    home = json.dumps({"home": str(tmp_path_factory.mktemp("home"))})
    return json.loads(run_program(_JOURNEY, (home, services.kafka, services.registry)))


pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_a_run_takes_what_is_there_refreshes_live_views_and_ends(said):
    assert said["own"] == {"a ingest": 1, "a demux": 1, "a GoldRefreshed": 1}
    silver, live, scheduled, _, _ = said["own_rows"]
    assert (silver, live, scheduled) == (["ann"], ["ann"], [])
    assert said["owner"] == "a run"
    assert said["noted"]


def test_a_run_that_begins_beside_another_is_served_by_it(said):
    assert said["other"] == {"c ingest": 1, "c demux": 1}
    assert said["own_rows"][3] == ["cid"]


def test_a_run_leaves_feeds_without_a_schedule_alone(said):
    assert said["own_rows"][4] == []


def test_a_run_without_anything_new_does_nothing_and_ends_well(said):
    assert said["nothing_new"] == {}


def test_a_run_is_needed_where_a_topic_has_more_or_is_another_one(said):
    assert said["needed"] == [True, True, False]
    assert said["needed_again"]


def test_streams_leave_feeds_with_a_schedule_alone_until_they_are_asked(said):
    assert said["before"] == ["ann"]
    assert said["streams_told"] == ["b"]


def test_a_run_beside_streams_is_done_and_told_as_one_alone(said):
    assert said["beside"] == {"a ingest": 2, "a demux": 2, "a GoldRefreshed": 1}
    assert said["beside_rows"] == [["ann", "eve", "late"]] * 2 + [["bob"]]
    assert "gamer_is_known" in said["judged"]


def test_streams_that_began_with_another_declaration_run_none_of_both(said):
    kind, words = said["changed"]
    assert kind == "StreamError"
    assert "began with another declaration of it" in words
    assert "Start them again" in words


def test_a_feed_that_streams_take_without_pause_has_nothing_to_run(said):
    assert said["followed"] == {"b Waiting": 1}
    assert said["waiting"].endswith("take 'b' without pause: there is nothing to run")


def test_a_run_that_fails_is_told_and_ends_no_streams(said):
    kind, words = said["bad"]
    assert kind == "FeedError"
    assert words.startswith("expectation 'gamer_is_known': does not compile")
    assert said["bad_noted"] == words


def test_a_run_whose_streams_end_goes_on_by_itself(said):
    assert said["in_the_end"] == [["ann", "eve", "fay", "late"]] * 2
    assert said["left"] == []
