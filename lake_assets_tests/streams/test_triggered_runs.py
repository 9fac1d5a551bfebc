"""Runs that are asked for, begun, withdrawn and answered; what streams do in them, others test."""

import errno
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import cast

import pytest

from lake_assets.errors import PoisonedBatchError, SourceError, StreamError
from lake_assets.model.reports import BatchReport, GoldRefreshed, Refreshed, Stage
from lake_assets.model.without_silver import Silver
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.state.files import streams_lock
from lake_assets.streams import request_files, run_requests, triggered_runs
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.refresh_answers import NotRefreshedHereError
from lake_assets.streams.run_requests import ask_for_run, folder_of
from lake_assets.streams.running_streams import RunningStreams
from lake_assets.streams.triggered_runs import Around, TriggeredRuns
from lake_assets_tests.sample import GAMES

HOURLY = GAMES.model_copy(update={"run": "0 * * * *"})
REPORT = BatchReport(feed="games", stage=Stage.INGEST, batch_id=0, rows={"bronze_games": 2})


class Streams:
    """Stands for a feed's streams, whose Spark tests of their own have."""

    progressed_at, waiting, stopped = 0.0, None, ""

    def __init__(self, feed, stop, process):
        self.feed, self.failure, self._stop, self._process = feed, None, stop, process

    def run(self):
        self._process.begun.append(self._stop)
        while not (self._stop.wait(0.01) or self._process.goes_on.is_set()):
            pass
        self._process.running.announce(REPORT)
        self.failure = self._process.problem

    def end(self):
        """As the real ones: `stop` is set."""


class Process:
    """The process of the streams, as runs know it."""

    def __init__(self):
        self.begun, self.told, self.problem, self.views = [], [], None, {}
        self.sent = []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.running = RunningStreams(self.told.append)
        self.around = Around(
            streams_of=lambda feed, stop: cast("FeedStreams", Streams(feed, stop, self)),
            refresh=lambda _: self.views,
            deliver=lambda feed, _: self.sent.append(feed),
            running=self.running,
        )


@pytest.fixture
def process():
    return Process()


@pytest.fixture
def runs(settings, process):
    """Streams of the lake, which hold its lock and take requests."""
    with ExitStack() as stack:
        stack.enter_context(streams_lock(settings.state_dir))
        yield stack.enter_context(TriggeredRuns(settings, [HOURLY], frozenset(), process.around))


def asked(settings, feed=HOURLY):
    """What a run tells, and whether it was run."""
    told, asking = [], ask_for_run(settings, feed)
    while True:
        try:
            event = next(asking)
        except StopIteration as end:
            return told, end.value
        if event is not None:
            told.append(event)


def left(settings):
    return [path.name for path in folder_of(settings).iterdir()]


@pytest.mark.usefixtures("runs")
def test_what_a_run_does_is_told_to_who_asked(settings, process):
    assert asked(settings) == ([REPORT], True)
    assert (process.told, process.running.every(), left(settings)) == ([], [], [])


@pytest.mark.parametrize("silver", list(Silver))
def test_sinks_get_what_is_there_before_a_run_ends_that_has_no_silver(settings, process, silver):
    feed = HOURLY.model_copy(update={"silver": silver, "gold": ()})
    with (
        streams_lock(settings.state_dir),
        TriggeredRuns(settings, [feed], frozenset(), process.around),
    ):
        assert asked(settings, feed)[1]
    assert process.sent == (["games"] if silver is Silver.NONE else [])


@pytest.mark.usefixtures("runs")
def test_views_are_refreshed_at_the_end_and_those_that_cannot_be_are_told(settings, process):
    done, failed, suspended = Future(), Future(), Future()
    done.set_result(Refreshed(reports=[]))
    failed.set_exception(StreamError("view", "is broken", "Repair it"))
    suspended.set_exception(NotRefreshedHereError())
    process.views = {"well": done}
    told, _ = asked(settings)
    assert [type(event) for event in told] == [BatchReport, GoldRefreshed]
    process.views = {"well": done, "ill": failed, "left": suspended}
    with pytest.raises(StreamError, match="gold of feed 'games': ill cannot be refreshed") as found:
        asked(settings)
    assert "left cannot be refreshed (it is suspended" in str(found.value)


def test_views_over_the_tables_that_a_feed_fills_are_refreshed_as_their_own_feeds(
    settings, process
):
    twin = HOURLY.model_copy(update={"feed": "twin", "into": "games", "gold": ()})
    done = Future()
    done.set_result(Refreshed(reports=[]))
    around = replace(process.around, refresh=lambda feed: {"games": {"well": done}}[feed])
    with (
        streams_lock(settings.state_dir),
        TriggeredRuns(settings, [GAMES, twin], frozenset({"games"}), around),
    ):
        (refreshed,), _ = asked(settings, twin)
    assert refreshed.feed == "games"


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("problem", "kind", "words"),
    [
        (SourceError("topic 'a'", "is away", "Start it"), SourceError, "topic 'a': is away"),
        (
            PoisonedBatchError("games", "demux", batch="1", failures=3, cause="no"),
            StreamError,
            "failed 3 times",
        ),
        (
            ValueError("odd"),
            StreamError,
            "run of feed 'games': failed in the process of the streams (odd)",
        ),
    ],
)
def test_an_error_is_raised_where_it_was_asked(settings, process, problem, kind, words):
    process.problem = problem
    with pytest.raises(kind) as found:
        asked(settings)
    assert words in str(found.value)
    assert left(settings) == []


@pytest.mark.usefixtures("runs")
def test_a_run_that_is_asked_for_twice_is_run_once_after_the_other(settings, process):
    process.goes_on.clear()
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(asked, settings) for _ in range(2)]
        while len(list(folder_of(settings).glob("*.taken"))) < 2:
            pass
        while not process.begun:
            pass
        assert len(process.begun) == 1
        process.goes_on.set()
        assert [each.result(20) for each in both] == [([REPORT], True)] * 2
    assert len(process.begun) == 2


@pytest.mark.usefixtures("runs")
def test_a_run_that_nobody_waits_for_any_more_ends_and_the_next_begins(settings, process):
    process.goes_on.clear()
    asking = ask_for_run(settings, HOURLY)
    while not process.begun:
        next(asking)
    asking.close()
    assert process.begun[0].wait(20)
    process.goes_on.set()
    assert asked(settings) == ([REPORT], True)
    assert process.told == []


def test_a_run_whose_streams_end_is_left_to_who_asked(settings, process):
    process.goes_on.clear()
    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        stack.enter_context(streams_lock(settings.state_dir))
        stack.enter_context(TriggeredRuns(settings, [HOURLY], frozenset(), process.around))
        answer = pool.submit(asked, settings)
        while not process.begun:
            pass
        stack.close()
        _, is_run = answer.result(20)
    assert not is_run
    assert left(settings) == []


def test_streams_that_take_no_runs_are_not_waited_for_for_ever(settings, monkeypatch):
    monkeypatch.setattr(run_requests, "_TAKEN_WITHIN_S", 0.3)
    with (
        streams_lock(settings.state_dir),
        pytest.raises(StreamError, match="was not run: the lake's streams have not taken it"),
    ):
        asked(settings)
    assert left(settings) == []


def test_without_streams_nobody_runs_it(settings):
    assert asked(settings) == ([], False)


@pytest.mark.usefixtures("runs")
def test_a_feed_that_streams_know_otherwise_or_not_at_all_is_refused(settings, process):
    for feed in (
        HOURLY.model_copy(update={"expectations": ()}),
        HOURLY.model_copy(update={"feed": "new"}),
    ):
        with pytest.raises(StreamError, match="began with another declaration of it"):
            asked(settings, feed)
    assert process.begun == []


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("is_refused", [False, True])
def test_an_answer_that_the_disk_did_not_take_comes_later(settings, monkeypatch, is_refused):
    full = iter([OSError(errno.ENOSPC, "No space left on device")] * 2)

    def write(path, text):
        if path.suffix == ".answer":
            for problem in full:
                raise problem
        replace_text(path, text)

    monkeypatch.setattr(triggered_runs, "_TELL_AGAIN_S", 0.01)
    monkeypatch.setattr(request_files, "replace_text", write)
    if is_refused:
        with pytest.raises(StreamError, match="began with another declaration"):
            asked(settings, HOURLY.model_copy(update={"expectations": ()}))
    else:
        assert asked(settings) == ([REPORT], True)
    assert next(full, None) is None


@pytest.mark.usefixtures("runs")
def test_an_answer_of_another_release_is_no_success(settings, monkeypatch):
    monkeypatch.setattr(triggered_runs, "DONE", "all is well, in other words")
    with pytest.raises(StreamError, match="by streams of another release"):
        asked(settings)


def test_a_process_with_a_run_of_its_own_waits_for_it_and_for_those_it_took_meanwhile(
    settings, process
):
    process.goes_on.clear()
    other = HOURLY.model_copy(update={"feed": "other"})
    runs = TriggeredRuns(settings, [HOURLY, other], frozenset(), process.around)
    runs.add_own("games", process.told.append)
    with streams_lock(settings.state_dir), runs, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asked, settings, other)
        while len(process.begun) < 2:
            pass
        process.goes_on.set()
        runs.finish(threading.Event())
        assert answer.result(20)[1]
    assert process.told == [REPORT, REPORT]


def test_a_failure_of_its_own_run_ends_the_process(settings, process):
    process.problem = SourceError("topic 'a'", "is away", "Start it")
    runs = TriggeredRuns(settings, [HOURLY], frozenset(), process.around)
    runs.add_own("games", process.told.append)
    with streams_lock(settings.state_dir), runs, pytest.raises(SourceError, match="is away"):
        runs.finish(threading.Event())
