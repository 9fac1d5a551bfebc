"""A lake and its state in a bucket, on a real server that speaks S3: killed streams on machines of
which nothing is left, gold, one writer."""

import random
import shutil
import subprocess
import time
from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from lake_assets.delta.log_history import open_table
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import StorageSettings, StreamSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.lease import LakeLease
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.commandline import COMMAND, lake_assets, sparkless_here
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import gold_of, silver_of

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

KEYS = ("uno", "go_fish", "rummy")

FEED = """
feed: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{json: {{schema: "game string, score int"}}}}
expectations: [{{name: low, sql: "score < 500", action: warn}}]
route: {{column: game, keys: [uno, go_fish, rummy]}}
gold: [{{name: best, sql: "select max(score) as best, count(*) as plays from silver"}}]
"""

KILLS = 2


class Lake:
    def __init__(self, settings, services, server, bucket, folder):
        folder.mkdir()
        self.topic, self.produced = Topic(services), Counter()
        (folder / "games.yaml").write_text(FEED.format(topic=self.topic.name))
        self.settings = settings.model_copy(
            update={
                "feeds": folder,
                "lake": Path(f"{server.address(bucket)}/some/lake"),
                "state": Path(f"{server.address(bucket)}/some/lake/_state"),
                "storage": StorageSettings(options=server.options),
                "spark": SparkSettings(driver_memory="600m"),
                "stream": StreamSettings(max_rows_per_batch=100),
            }
        )

    def produce(self, many):
        start = self.produced.total()
        rows = [
            (KEYS[number % 3], b'{"game": "%s", "score": %d}' % (KEYS[number % 3].encode(), number))
            if number % 10
            else ("", b"bad")
            for number in range(start, start + many)
        ]
        places = self.topic.produce(*(value for _, value in rows))
        self.produced += Counter(
            (key, *place) for (key, _), place in zip(rows, places, strict=True)
        )

    def places(self, table, names=("_partition", "_offset")):
        """Partition and offset of each row."""
        handle = open_table(lake_of(self.settings), table)
        if handle is None:
            return []
        rows = handle.to_pyarrow_table(columns=list(names))
        return list(zip(*(rows[name].to_pylist() for name in names), strict=True))

    def has_more_than(self, rows):
        return len(self.places(silver_of("uno"))) > rows

    @property
    def placed(self):
        silver = [(key, *place) for key in KEYS for place in self.places(silver_of(key))]
        refused = self.places(quarantine_of("games"), ("partition", "offset"))
        return Counter(silver + [("", *place) for place in refused])

    @property
    def in_bronze(self):
        return Counter(self.places(bronze_of("games"), ("partition", "offset")))


@contextmanager
def streaming(settings):
    environment = child_environment(settings)
    with subprocess.Popen([*COMMAND, "stream"], env=environment) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
            process.kill()


@pytest.fixture
def s3(lake_server):
    return lake_server


@pytest.fixture
def lake(connected, services, tmp_path, lake_server, bucket):
    return Lake(connected, services, lake_server, bucket, tmp_path / "feeds")


def test_streams_that_are_killed_lose_nothing_and_double_nothing(lake):
    chance = random.Random(11)  # noqa: S311 - no secret
    for number in range(KILLS):
        lake.produce(1_000)
        before = len(lake.places(silver_of("uno")))
        with streaming(lake.settings):
            wait_for(partial(lake.has_more_than, before), "rows in silver", within_s=120)
            time.sleep(chance.uniform(0, 2))  # so that it dies at any moment of its way
        if number == 0:
            shutil.rmtree(lake.settings.state_dir)  # as of a container that had no volume
    lake.produce(100)
    done = lake_assets(lake.settings, "stream", "--until-caught-up")
    assert done.returncode == 0, done.stderr
    assert lake.placed == lake.produced
    assert lake.in_bronze == Counter(tuple(place) for _, *place in lake.produced)
    _ensure_gold(lake)
    _ensure_state_is_kept(lake)
    _ensure_one_writer(lake)


def _ensure_gold(lake):
    done = lake_assets(lake.settings, "refresh")
    assert done.returncode == 0, done.stderr
    for key in KEYS:
        (row,) = (
            open_table(lake_of(lake.settings), gold_of(key, "best")).to_pyarrow_table().to_pylist()
        )
        assert row["plays"] == len(lake.places(silver_of(key)))


def _ensure_state_is_kept(lake):
    """As the next machine finds it, which was never here."""
    settings = lake.settings
    told = (settings.state_dir / "failing" / "games.json").read_text()
    shutil.rmtree(settings.state_dir)
    lake_id(settings)
    assert (settings.state_dir / "failing" / "games.json").read_text() == told


def _ensure_one_writer(lake):
    """A copy of the state folder on another machine, which its id alone would let write."""
    settings = lake.settings
    root, options = settings.lake_root, settings.storage.secrets
    elsewhere = settings.state_dir.with_name("elsewhere")
    other = LakeLease(root=root, options=options, state_dir=elsewhere)
    with other.held(lambda _: False):
        refused = sparkless_here(settings, "maintain")
    assert refused.returncode == 1
    assert "is written by" in refused.stderr
