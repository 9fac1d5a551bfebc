import json
import os
import queue
import signal
import threading

import pytest

from lake_assets.errors import RuntimeSetupError
from lake_assets.model.endpoints import Endpoints
from lake_assets.settings.schema import RuntimeSettings
from lake_assets.state.files import is_locked
from lake_assets.streams.run import Tick, stream_events
from lake_assets.streams.stream_thread import Worker
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES

# Each worker starts and stops Spark, so they run in a process of their own.
_RUNS = """
import json, queue, sys
from pathlib import Path
from lake_assets.errors import LakeAssetsError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.streams.stream_thread import Worker

settings = Settings.model_validate_json(sys.argv[1])
endpoints = Endpoints(kafka=sys.argv[2], registry=sys.argv[3])
for text in sys.argv[4:]:
    feed = Feed.model_validate_json(text)
    outbox = queue.Queue()
    worker = Worker(
        settings, [feed], endpoints, outbox,
        until_caught_up=True, heard=lambda _: None, keep=lambda _: None,
    )
    worker.start()
    worker._thread.join()
    said = {"stages": [report.stage for report in list(outbox.queue)], "alive": worker.is_alive()}
    try:
        worker.raise_failure()
    except LakeAssetsError as problem:
        said |= {"kind": type(problem).__name__, "says": str(problem)}
    print(json.dumps(said))
"""

OTHER_GAMES = GAMES.route.model_copy(update={"keys": ("chess",)})

BAD_SQL = GAMES.expectations[0].model_copy(update={"sql": "nothing > 1"})


@pytest.fixture(scope="module")
def said(services, tmp_path_factory):
    """What became of workers with a good feed, a bad expectation and a topic that is not there."""
    topic = Topic(services)
    topic.produce(framed(topic.register(0)))
    home = tmp_path_factory.mktemp("home")
    feeds = (
        topic.feed(),
        topic.feed(feed="bad_sql", expectations=(BAD_SQL,), route=OTHER_GAMES),
        Topic(services, "nowhere").feed(feed="lost"),
    )
    arguments = [json.dumps({"home": str(home)}), services.kafka, services.registry]
    lines = run_program(_RUNS, [*arguments, *(feed.model_dump_json() for feed in feeds)])
    return [json.loads(line) for line in lines.splitlines()]


@pytest.mark.spark
@pytest.mark.kafka
def test_a_worker_that_has_caught_up_ends(said):
    assert said[0] == {"stages": ["ingest", "demux"], "alive": False}


@pytest.mark.spark
@pytest.mark.kafka
def test_an_error_of_ours_in_a_batch_comes_out_as_it_was(said):
    assert said[1]["kind"] == "FeedError"
    assert "demux" not in said[1]["stages"]
    assert said[1]["says"].startswith("expectation 'gamer_is_known': does not compile")
    assert "\n" not in said[1]["says"]


@pytest.mark.spark
@pytest.mark.kafka
def test_a_topic_that_is_not_there_is_an_error_of_the_source(said):
    assert said[2]["kind"] == "SourceNotFoundError"
    assert "topic 'nowhere': does not exist" in said[2]["says"]


def test_what_keeps_spark_from_starting_is_raised_in_the_callers_thread(settings, tmp_path):
    (tmp_path / "file").write_text("")
    broken = settings.model_copy(update={"runtime": RuntimeSettings(cache=tmp_path / "file")})
    endpoints = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")
    worker = Worker(
        broken, [GAMES], endpoints, queue.Queue(), until_caught_up=True, heard=print, keep=print
    )
    worker.start()
    worker.stop()
    with pytest.raises(RuntimeSetupError):
        worker.raise_failure()


def test_the_lock_is_kept_until_the_streams_have_ended_though_their_end_is_interrupted(
    settings, monkeypatch
):
    """As by Dagster's termination of a run in the middle of its daily rotation."""
    in_hand, seen = threading.Event(), []

    def batch_in_hand(worker):
        worker._outbox.put(Tick())  # noqa: SLF001 - it stands for a method
        worker._stop.wait()  # noqa: SLF001 - likewise
        in_hand.set()
        left.wait(1)  # the interrupt comes meanwhile; who heeds it at once is gone by then
        seen.append(is_locked(settings.state_dir))

    left = threading.Event()

    def interrupt(*_):
        raise KeyboardInterrupt

    def send():
        in_hand.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    monkeypatch.setattr(Worker, "_stream", batch_in_hand)
    former = signal.signal(signal.SIGUSR1, interrupt)
    try:
        endpoints = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")
        events = stream_events(settings, [GAMES], endpoints, owner="a test")
        next(events)
        threading.Thread(target=send).start()
        with pytest.raises(KeyboardInterrupt):
            events.close()
    finally:
        ended = list(seen)
        left.set()
        signal.signal(signal.SIGUSR1, former)
    assert ended == [True]
