"""Two feeds into the same tables under load, whose processes are killed at any moment.

Streams and runs are real processes (`kill -9`), and what is counted is read without Spark. Where a
batch is killed at a point that is meant, `test_exactly_once` has it.
"""

import random
import subprocess
import threading
from collections import Counter
from contextlib import contextmanager, suppress

import duckdb
import psutil
import pytest

from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import StreamSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets.state.files import is_locked
from lake_assets_tests.commandline import COMMAND, lake_assets_here
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.where_lakes_are import handle_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

NAMES = ("games", "twin")

KEYS = ("uno", "go_fish", "rummy")

OWNER = """
feed: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
route: {{column: game_name, keys: [uno, go_fish, rummy]}}
"""

TWIN = """
feed: twin
into: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
"""

NEVER = 'run: "0 0 1 1 *"\n'
"""A schedule that nobody keeps here: runs are by hand."""

KILLS = 3


class Load:
    """Events that come to both feeds until it ends, and where each of them is to be."""

    def __init__(self, services):
        self.topics = {name: Topic(services) for name in NAMES}
        self.known = {name: topic.register(0) for name, topic in self.topics.items()}
        self.placed = {name: Counter() for name in self.topics}
        self.rounds = 0
        self._stop = threading.Event()

    def produce(self, name, many):
        """Every tenth row is one that nobody can decode."""
        rows = [
            ("", b"bad") if number % 10 == 9 else (key, framed(self.known[name], key))
            for number in range(many)
            for key in [KEYS[number % len(KEYS)]]
        ]
        places = self.topics[name].produce(*(value for _, value in rows))
        self.placed[name] += Counter(
            (key, *place) for (key, _), place in zip(rows, places, strict=True)
        )

    @contextmanager
    def going_on(self):
        def go_on():
            while not self._stop.wait(0.2):
                for name in self.topics:
                    self.produce(name, 20)
                self.rounds += 1

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


class Lake:
    """Two feeds, what comes to them, and what is in their tables, as DuckDB reads them."""

    def __init__(self, settings, services, folder, more):
        folder.mkdir()
        self.load, self.said = Load(services), folder.with_name("said.txt")
        own, twin = (self.load.topics[name].name for name in NAMES)
        (folder / "games.yaml").write_text(OWNER.format(topic=own))
        (folder / "twin.yaml").write_text(TWIN.format(topic=twin) + more)
        self.settings = settings.model_copy(
            update={
                "feeds": folder,
                "spark": SparkSettings(driver_memory="600m"),
                "stream": StreamSettings(max_rows_per_batch=500),
            }
        )

    def _rows(self, table, columns):
        handle = handle_of(self.settings, table)
        if handle is None:
            return []
        with duckdb.connect() as db:
            rows = db.from_arrow(handle.to_pyarrow_dataset())
            return rows.project(columns).fetchall()

    def silver(self):
        found = {name: Counter() for name in NAMES}
        for key in KEYS:
            columns = "_feed, _partition, _offset, game_name"
            for feed, partition, offset, game in self._rows(silver_of(key), columns):
                assert game == key
                found[feed][key, partition, offset] += 1
        return found

    def placed(self):
        found = self.silver()
        for name, places in found.items():
            refused = self._rows(quarantine_of(name), '"partition", "offset"')
            places.update(("", *place) for place in refused)
        return found

    def bronze(self, name):
        return Counter(self._rows(bronze_of(name), '"partition", "offset"'))

    def wait_for_rows(self, *names):
        """Of each of these feeds, after those that there are."""
        before = self.placed()

        def lacking():
            now = self.placed()
            return [name for name in names if now[name].total() == before[name].total()]

        wait_for(lambda: not lacking(), lambda: f"rows of {lacking()}", within_s=200)

    def wait_for_moment(self, chance):
        """Some rounds of the load, as chance has it."""
        until = self.load.rounds + chance.randint(0, 8)
        wait_for(lambda: self.load.rounds >= until, "the load to go on", within_s=120)

    def check(self):
        """No row is there twice, now that nothing writes."""
        wait_for(lambda: not is_locked(self.settings.state_dir), "no streams", within_s=120)
        assert not [place for rows in self.placed().values() for place in rows if rows[place] > 1]

    def check_at_the_end(self):
        assert self.placed() == self.load.placed
        for name, rows in self.load.placed.items():
            places = ((partition, offset) for _, partition, offset in rows)
            assert self.bronze(name) == Counter(places)

    @contextmanager
    def process(self, *arguments):
        """`lake-assets` of a shell; killed in the end, with all that it started."""
        with (
            self.said.open("ab") as said,
            subprocess.Popen(  # noqa: S603 - our own command line
                [*COMMAND, *arguments],
                env=child_environment(self.settings),
                stdout=said,
                stderr=subprocess.STDOUT,
            ) as started,
        ):
            try:
                yield started
            finally:
                kill(started)

    def run(self, *arguments):
        """In this process, whose JVM is warm: nothing kills it."""
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr


def kill(started):
    """As the kernel does it when memory is short: the process goes, and then what it started."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(started.pid).children(recursive=True)
        started.kill()
        started.wait()
        psutil.wait_procs(children, timeout=30)
        assert not any(child.is_running() for child in children)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_streams_lose_and_double_nothing_whenever_they_die(connected, services, tmp_path, located):
    chance = random.Random(1)  # noqa: S311 - moments need not be secret
    lake = Lake(located(connected), services, tmp_path / "declared", "")
    with lake.load.going_on():
        for _ in range(KILLS):
            with lake.process("stream"):
                lake.wait_for_rows(*NAMES)
                lake.wait_for_moment(chance)
            lake.check()
    lake.run("stream", "--until-caught-up")
    lake.check_at_the_end()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_runs_of_a_schedule_lose_and_double_nothing_whichever_process_dies(
    connected, services, tmp_path, located
):
    """Two runs at once, which the streams do one after the other; one of the three is killed."""
    chance = random.Random(2)  # noqa: S311 - moments need not be secret
    lake = Lake(located(connected), services, tmp_path / "declared", NEVER)
    run = ("stream", "--feed", "twin", "--until-caught-up")
    with lake.load.going_on():
        for number in range(3):
            with lake.process("stream") as streams:
                lake.wait_for_rows("games")
                with lake.process(*run) as first, lake.process(*run) as second:
                    lake.wait_for_rows("twin")
                    lake.wait_for_moment(chance)
                    kill((streams, first, second)[number])
                    lake.wait_for_moment(chance)
            lake.check()
        with lake.process(*run):  # which has a Spark of its own
            lake.wait_for_rows("twin")
            lake.wait_for_moment(chance)
        lake.check()
    lake.run("stream", "--until-caught-up")
    lake.run(*run)
    lake.check_at_the_end()
