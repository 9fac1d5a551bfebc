"""Streams that do not end when they are asked to, in a process of their own with real signals."""

import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from lake_assets.state.files import is_locked
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.long_parameters import with_long

# What stands for the streams never ends: as a batch whose tasks hang, or a store that is away.
_HANGS = """
import sys, threading
from lake_assets.cli import stream as command
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.settings.schema import Settings
from lake_assets.streams.run import Tick
from lake_assets.streams.stream_thread import Worker

class Feed:
    feed = find_feed(load_feeds(None), "games")
    progressed_at = 0.0
    waiting = failure = None
    stopped = ""
    stopped_by = None
    def end(self): pass

def hang(worker):
    worker.streams.add(Feed(), thread=threading.current_thread())
    worker._outbox.put(Tick())
    threading.Event().wait()

settings = Settings.model_validate_json(sys.argv[1])
command.load_settings = lambda **_: settings
command.control.locate = lambda *_: Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")
Worker._stream = hang
command.EventLog.add = lambda _, event: print("streams", flush=True)
command.stream(until_caught_up=False, skip_batch=None, retry_batch=None, feed=None, lake=None)
"""


@contextmanager
def hung(settings):
    """Streams that run and would not end."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _HANGS, settings.model_dump_json(include={"home"})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "streams\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    "number", with_long([signal.SIGINT, signal.SIGTERM], long=[signal.SIGTERM])
)
def test_a_second_interrupt_tells_what_still_runs_and_a_third_ends_it(settings, number):
    with hung(settings) as process:
        process.send_signal(number)
        assert process.stderr.readline() == "stopping after the batch in hand …\n"
        process.send_signal(number)
        told = process.stderr.readline()
        assert told.startswith("warning: not at its end: feed 'games' (for ")
        assert "once more" in told
        assert is_locked(settings.state_dir)  # as long as its threads may write
        # Within two seconds nobody has read it; so often a terminal and a parent may send one.
        wait_for(lambda: process.send_signal(number) or process.poll(), "its end", within_s=120)
        assert process.returncode == 130
        assert not process.stderr.read()
    assert not is_locked(settings.state_dir)


def test_one_interrupt_is_not_made_two(settings):
    with hung(settings) as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("stopping")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
