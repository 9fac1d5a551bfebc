import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import contextmanager

import pytest

from lake_assets.metrics.health import FeedStatus, StreamsStatus
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.settings.load import child_environment
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.streams.watch import Watch, waiting_status
from lake_assets_tests.cli.test_lazy_commands import run
from lake_assets_tests.commandline import COMMAND, answer_of, result_of, sparkless_here
from lake_assets_tests.places import t
from lake_assets_tests.sample import GAMES

INGESTED = BatchReport(
    feed="games",
    stage=Stage.INGEST,
    batch_id=1,
    rows={"bronze_games": 10},
    seconds={"job": 0.5, "commit": 0.25},
    span=Span(query="q", offsets_to=t({0: 10})),
)


@contextmanager
def streams(settings, status=None):
    """What streams of this lake serve and say, without any."""
    settings.lake_dir.mkdir(parents=True, exist_ok=True)
    watch = Watch(settings, [GAMES], None)
    runs = FeedStatus(is_running=True, quiet_s=0.1)
    watch.status = lambda: status or StreamsStatus(is_running=True, feeds={"games": runs})
    watch.batch(INGESTED)
    watch.ends("games", t({0: 15}))
    with streams_lock(settings.state_dir), watch.serving() as address:
        beat = own_heartbeat("a test", progressed_at=0.0, waiting_for=None, metrics=address)
        write_heartbeat(settings.state_dir, beat)
        yield address


def test_it_prints_once_what_streams_say(settings):
    with streams(settings):
        done = sparkless_here(settings, "top", "--once", "--every", "0.2")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert text.startswith("streams ready")
    assert re.search(r"games ingest 0 0\.0 0\.50 s 0\.25 s 5 [\d.]+ s", text), done.stdout
    assert "games.player_agg - -" in text
    assert "python workers" in text
    assert "maintenance: games never ran" in text


def test_it_prints_json_for_programs(settings):
    with streams(settings):
        done = sparkless_here(settings, "top", "--json", "--every", "0.2")
    found = result_of(done)
    (games,) = found["feeds"]
    assert games["ingest"]["lag_rows"] == 5
    assert found["views"][0]["view"] == "player_agg"
    assert found["maintenance"] == {"games": {"is_running": False, "last_ended_at": None}}


def test_a_feed_that_waits_says_for_what(settings):
    with streams(settings, waiting_status([GAMES], "Kafka at b:1 does not answer")):
        done = sparkless_here(settings, "top", "--once", "--every", "0.2")
    text = " ".join(done.stdout.split())
    assert text.startswith("streams not ready")
    assert "games: it waits: Kafka at b:1 does not answer" in text


@pytest.mark.parametrize("option", ["--once", "--json"])
def test_without_streams_it_says_so_and_what_to_do(settings, option):
    done = sparkless_here(settings, "top", option)
    assert done.returncode == 1
    assert "none run for the lake" in done.stderr
    assert "lake-assets stream" in done.stderr
    assert done.stdout == "" if option == "--once" else not answer_of(done)["ok"]


def test_it_asks_where_it_is_told_to(settings, tmp_path):
    elsewhere = settings.model_copy(update={"home": tmp_path / "another"})
    with streams(settings) as address:
        done = sparkless_here(elsewhere, "top", "--once", "--every", "0.2", "--url", address)
    assert done.stdout.startswith("streams ready")


def test_it_starts_without_spark_and_dagster(settings):
    with streams(settings):
        done = run("top", "--json", "--every", "0.2", settings=settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ""


class Terminal:
    """A command in a pseudo terminal."""

    def __init__(self, settings, *arguments):
        self._ours, theirs = pty.openpty()
        size = struct.pack("HHHH", 40, 120, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            [*COMMAND, *arguments],
            env={**child_environment(settings), "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: (  # noqa: PLW1509 - a terminal of its own, so that Ctrl-C reaches it
                signal.signal(signal.SIGINT, signal.default_int_handler),
                fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            ),
        )
        os.close(theirs)
        self.text = ""

    def wait_for(self, pattern, *, within_s=120.0):
        """Read on until what was shown since the last time matches."""
        until, self.text = time.monotonic() + within_s, ""
        while not re.search(pattern, self.text, re.DOTALL):
            assert time.monotonic() < until, f"no {pattern!r} in {self.text!r}"
            self._read()

    def end(self):
        """Press Ctrl-C, and read to the end; the exit code."""
        os.write(self._ours, b"\x03")
        while self._read():
            pass
        os.close(self._ours)
        return self._process.wait(60)

    def _read(self):
        ready, _, _ = select.select([self._ours], [], [], 1.0)
        if not ready:
            return self._process.poll() is None
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # Linux says so that the other side was closed
            return False
        self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode(errors="replace"))
        return bool(data)


@pytest.mark.timeout(600)
def test_in_a_terminal_the_page_lives_until_ctrl_c(settings):
    with streams(settings):
        terminal = Terminal(settings, "top", "--every", "0.2")
        terminal.wait_for(r"streams ready.*games +ingest.*memory \d")
        terminal.wait_for(r"streams ready")  # and again
    terminal.wait_for("none run for the lake.*still looking")
    with streams(settings, waiting_status([GAMES], "no broker")):
        terminal.wait_for("it waits: no broker")
        assert terminal.end() == 0
    assert "the streams go on" in terminal.text
