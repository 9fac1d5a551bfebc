"""Streams on a real Spark cluster into a bucket: executors, workers and the master die meanwhile.

Executors have nothing of this machine's Python: no package on their path, another HOME, and the
Python that Spark sent to them.
"""

import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from lake_assets.delta.log_history import open_table
from lake_assets.model.tables import bronze_of
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import FanoutSettings, StorageSettings, StreamSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.commandline import COMMAND, sparkless_here
from lake_assets_tests.e2e import pauses
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.spark.standalone import EXECUTOR, run_cluster
from lake_assets_tests.storage.servers import run_s3

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.long]

KEYS = ("uno", "go_fish", "rummy")

FEED = """
feed: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{json: {{schema: "game string, score long"}}}}
transform: pauses:linger
route: {{column: game, keys: [uno, go_fish, rummy]}}
gold:
- name: best
  sql: select max(score) as best, count(*) as plays from silver
  refresh: live
"""

CONF = {
    **EXECUTOR,
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    # Several pieces a task, so that some files are written before an attempt ends.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
}


@pytest.fixture(scope="module")
def s3():
    with run_s3() as server:
        server.make_bucket("lakes")
        yield server


@pytest.fixture(scope="module")
def cluster(spark_settings, tmp_path_factory):
    java = ensure_runtime(spark_settings).java
    with run_cluster(java, tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def feeds(services, tmp_path):
    """A folder with the feed, and its topic."""
    folder, topic = tmp_path / "feeds", Topic(services)
    folder.mkdir()
    shutil.copy(pauses.__file__, folder)
    (folder / "games.yaml").write_text(FEED.format(topic=topic.name))
    return folder, topic


@pytest.fixture
def settings(connected, feeds, s3, cluster, tmp_path):
    return connected.model_copy(
        update={
            "feeds": feeds[0],
            "lake": Path("s3://lakes/some/lake"),
            "storage": StorageSettings(options=s3.options),
            "stream": StreamSettings(max_rows_per_batch=pauses.BATCH),
            "fanout": FanoutSettings(buffer_bytes=3_000_000),
            "spark": SparkSettings(
                master=cluster.master,
                driver_memory="600m",
                package=tmp_path / "package.tar.gz",
                conf=CONF,
            ),
        }
    )


def test_whatever_dies_on_a_cluster_nothing_is_lost_or_doubled(settings, feeds, cluster, tmp_path):
    produced = _produce(feeds[1], 4 * pauses.BATCH)
    packed = sparkless_here(settings, "package", str(settings.spark.package))
    assert packed.returncode == 0, packed.stderr
    with (tmp_path / "log").open("w") as log, _Streaming(settings, log) as streams:
        _wait_for_a_task(cluster, 1, streams)
        (executor,) = cluster.executors(1)
        _ensure_no_loopback(executor)
        executor.send_signal(signal.SIGKILL)
        _wait_for_a_task(cluster, 2, streams)
        cluster.kill("worker2")
        cluster.start_worker(2)
        _wait_for_a_task(cluster, 1, streams)
        cluster.kill("master")
        cluster.start_master()
        assert streams.wait(480) == 0, (tmp_path / "log").read_text()
    assert _differences(_placed(settings), produced) == []
    in_topic = Counter(tuple(place) for _, *place in produced)
    assert _differences(_in_bronze(settings), in_topic) == []
    assert {*_rows(settings, silver_of("uno"), "place")} == {("its package",)}
    _ensure_gold(settings)


def _differences(have, wanted):
    """Some rows that are lost or doubled; pytest would take minutes to compare all."""
    return [*(have - wanted), *(wanted - have)][:10]


def _produce(topic, many):
    """By key and place, each row once."""
    rows = [(KEYS[number % 3], number) for number in range(many)]
    places = topic.produce(*(b'{"game": "%s", "score": %d}' % (k.encode(), n) for k, n in rows))
    return Counter((key, *place) for (key, _), place in zip(rows, places, strict=True))


class _Streaming(subprocess.Popen):
    def __init__(self, settings, log):
        command = [*COMMAND, "stream", "--until-caught-up"]
        super().__init__(command, env=child_environment(settings), stdout=log, stderr=log)

    def __exit__(self, *problem):
        if self.poll() is None:
            for child in psutil.Process(self.pid).children(recursive=True):
                child.kill()
            self.kill()
        super().__exit__(*problem)


def _wait_for_a_task(cluster, worker, streams):
    """Until one is in the middle of its work on that worker, in an executor that lives."""
    since = time.time()

    def is_there():
        assert streams.poll() is None, "the streams ended too early"
        # Those that were killed leave their marks.
        marks = cluster.work(worker).glob(f"*/*/{pauses.MARK}")
        return any(mark.stat().st_mtime > since for mark in marks)

    wait_for(is_there, f"a task on worker {worker}", within_s=240)


def _ensure_no_loopback(executor):
    """Where this machine has another address, that is where executors look for the driver."""
    addresses = [one.address for kind in psutil.net_if_addrs().values() for one in kind]
    if any(re.fullmatch(r"(?!127\.)\d+(\.\d+){3}", address) for address in addresses):
        assert "@127.0.0.1:" not in " ".join(executor.cmdline())


def _rows(settings, table, *names):
    handle = open_table(lake_of(settings), table)
    rows = handle.to_pyarrow_table(columns=list(names))
    return list(zip(*(rows[name].to_pylist() for name in names), strict=True))


def _placed(settings):
    return Counter(
        (key, *place)
        for key in KEYS
        for place in _rows(settings, silver_of(key), "_partition", "_offset")
    )


def _in_bronze(settings):
    return Counter(_rows(settings, bronze_of("games"), "partition", "offset"))


def _ensure_gold(settings):
    for key in KEYS:
        ((plays,),) = _rows(settings, gold_of(key, "best"), "plays")
        assert plays == len(_rows(settings, silver_of(key), "_offset"))
