"""Requests about a batch, and a feed's thread that waits for one; no Spark is asked to stream."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.reports import Stage
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.pipeline import Pipeline
from lake_assets.streams.skip_request import (
    ask_to_retry,
    ask_to_skip,
    is_asked_to_skip,
    is_released,
    request_file,
)
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.sample import GAMES

NOWHERE = Endpoints(kafka="localhost:1", registry="")
BATCH = BatchRange(begin="3", end="9", words="versions 3 to 9 of bronze_games")


class Session:
    def newSession(self):  # noqa: N802 - Spark's name
        return self


@dataclass(kw_only=True)
class Scripted(FeedStreams):
    """A feed whose streaming is a script: each step fails so, or goes well with None."""

    script: list = field(default_factory=list)
    began: int = 0

    def _stream(self):
        self.began += 1
        problem = self.script.pop(0) if self.script else None
        with self.pipeline.attempts.demux.attempt(BATCH):
            if problem is not None:
                raise problem
        return False


@pytest.fixture
def make(settings):

    @contextmanager
    def streams(*script, until_caught_up=False, goes_on=True):
        with open_lake(settings) as context:
            pipeline = Pipeline(
                session=Session(),
                endpoints=NOWHERE,
                context=context,
                stream=settings.stream,
                state_dir=settings.state_dir,
                report=print,
            )
            yield Scripted(
                pipeline=pipeline,
                settings=settings,
                feed=GAMES,
                until_caught_up=until_caught_up,
                announce=lambda _: None,
                stop=threading.Event(),
                goes_on=lambda: goes_on,
                script=list(script),
            )

    return streams


@contextmanager
def running(streams):
    thread = threading.Thread(target=streams.run)
    thread.start()
    try:
        yield
    finally:
        streams.stop.set()
        thread.join()


def bad(count):
    return [ValueError("bad row") for _ in range(count)]


def test_a_batch_that_fails_by_what_nobody_foresaw_is_tried_again_at_once(make):
    with make(*bad(2), goes_on=False) as streams:
        streams.run()
    assert (streams.began, streams.failure, streams.stopped) == (3, None, "")


def test_an_error_that_is_no_batch_s_is_not_tried_again_for_ever(make):
    with make(SourceError("t", "no", "Wait"), until_caught_up=True, goes_on=False) as streams:
        streams.run()
    assert (streams.began, str(streams.failure)) == (1, "t: no. Wait")


def test_a_source_that_does_not_answer_is_waited_for(make):
    with make(*[SourceError("t", "no", "Wait")] * 4, goes_on=False) as streams:
        streams.run()
    assert (streams.began, streams.failure) == (5, None)


def test_a_feed_stands_still_after_the_third_failure_until_its_batch_is_skipped(make, settings):
    with make(*bad(3)) as streams, running(streams):
        wait_for(lambda: streams.stopped, "the poison", within_s=120)
        assert "failed 3 times at the same batch (versions 3 to 9" in streams.stopped
        assert (streams.began, streams.waiting) == (3, None)
        assert streams.failure is not None
        ask_to_skip(settings.state_dir, GAMES)
        wait_for(lambda: streams.began == 4, "another start", within_s=120)
        assert (streams.stopped, streams.failure) == ("", None)


def test_a_feed_stands_still_until_its_batch_is_to_be_tried_again_and_counts_anew(make, settings):
    with make(*bad(5)) as streams, running(streams):
        wait_for(lambda: streams.stopped, "the poison", within_s=120)
        ask_to_retry(settings.state_dir, GAMES)
        wait_for(lambda: streams.began == 6, "two more failures and no poison", within_s=120)
    assert (streams.stopped, streams.failure) == ("", None)


def test_a_feed_that_must_catch_up_fails_at_once_and_waits_for_nobody(make):
    for _ in range(2):
        with make(*bad(1), until_caught_up=True) as streams:
            streams.run()
        assert (streams.began, str(streams.failure)) == (1, "bad row")
    with make(*bad(1), until_caught_up=True) as streams:
        streams.run()
    assert "failed 3 times at the same batch" in str(streams.failure)


def test_a_feed_that_stands_still_ends_when_it_is_told_to(make):
    with make(*bad(3)) as streams, running(streams):
        wait_for(lambda: streams.stopped, "the poison", within_s=120)
    assert streams.began == 3


@pytest.mark.parametrize("content", [b"another", b"", b"\xff"])
@pytest.mark.parametrize("begin", ["3", None])
def test_a_request_that_no_longer_applies_is_withdrawn_and_the_log_says_so(
    settings, caplog, content, begin
):
    request = request_file(settings.state_dir, GAMES, Stage.CATCH_UP)
    assert not is_asked_to_skip(settings.state_dir, GAMES, Stage.CATCH_UP, begin)
    assert not caplog.records
    request.parent.mkdir(parents=True)
    request.write_bytes(content)
    assert not is_asked_to_skip(settings.state_dir, GAMES, Stage.CATCH_UP, begin)
    assert not request.exists()
    assert "catch-up of feed 'games' skips nothing: the batch that it was asked for" in caplog.text


def test_a_request_names_the_batch_that_it_is_about(make, settings):
    with make(*bad(1), until_caught_up=True) as streams:
        streams.run()
    assert not is_released(settings.state_dir, GAMES, Stage.DEMUX)
    (strikes,) = ask_to_skip(settings.state_dir, GAMES)
    assert strikes == replace(strikes, batch=BATCH, errors=1, cause="bad row")
    assert request_file(settings.state_dir, GAMES, Stage.DEMUX).read_text() == BATCH.begin
    assert is_released(settings.state_dir, GAMES, Stage.DEMUX)
    assert not request_file(settings.state_dir, GAMES, Stage.INGEST).exists()
