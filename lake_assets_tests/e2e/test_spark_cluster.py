"""Streams on a real Spark cluster into a bucket: executors, workers and the master die meanwhile,
and tasks are tried again, or twice at once.

Executors have nothing of this machine's Python where they get a package: no package on their path,
another HOME, and the Python that Spark sent to them.
"""

import re
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import FanoutSettings, StorageSettings, StreamSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets_tests.commandline import sparkless_here
from lake_assets_tests.e2e import pauses, twins
from lake_assets_tests.e2e.dev import ROOT, wait_for
from lake_assets_tests.e2e.on_a_cluster import (
    KEYS,
    Streaming,
    declare,
    differences,
    in_bronze,
    in_silver,
    in_unnamed_files,
    produce,
    rows_of,
    unnamed_files,
)
from lake_assets_tests.events import Topic
from lake_assets_tests.maintenance.lakes import later
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.spark.standalone import EXECUTOR, run_cluster

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.long]

GOLD = """
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
def cluster(spark_settings, tmp_path_factory):
    java = ensure_runtime(spark_settings).java
    with run_cluster(java, tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def forgetful(spark_settings, tmp_path):
    """A cluster whose master knows nothing of before when it starts again: Spark's default."""
    java = ensure_runtime(spark_settings).java
    with run_cluster(java, tmp_path / "cluster", recovers=False) as found:
        yield found


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.fixture
def settings(connected, s3, bucket, cluster, tmp_path):
    """Their executors have this process' Python."""
    conf = {**CONF, "spark.executorEnv.PYTHONPATH": str(ROOT)}
    return connected.model_copy(
        update={
            "feeds": tmp_path / "feeds",
            "lake": Path(f"s3://{bucket}/some/lake"),
            "storage": StorageSettings(options=s3.options),
            "stream": StreamSettings(max_rows_per_batch=pauses.BATCH),
            "fanout": FanoutSettings(buffer_bytes=pauses.BUFFER_BYTES),
            "spark": SparkSettings(master=cluster.master, driver_memory="600m", conf=conf),
        }
    )


@pytest.fixture
def packed(settings, tmp_path):
    """Their executors have what is sent to them alone."""
    own = {"package": tmp_path / "package.tar.gz", "conf": CONF}
    return settings.model_copy(update={"spark": settings.spark.model_copy(update=own)})


def test_whatever_dies_on_a_cluster_nothing_is_lost_or_doubled(packed, topic, cluster, tmp_path):
    declare(packed.feeds, topic, "pauses:linger", GOLD)
    shutil.copy(pauses.__file__, packed.feeds)
    produced = produce(topic, 4 * pauses.BATCH)
    made = sparkless_here(packed, "package", str(packed.spark.package))
    assert made.returncode == 0, made.stderr
    with Streaming(packed, tmp_path / "log", "--until-caught-up") as streams:
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
    _ensure_each_is_once(packed, produced)
    assert {*rows_of(packed, silver_of("uno"), "place")} == {("its package",)}
    for key in KEYS:
        ((plays,),) = rows_of(packed, gold_of(key, "best"), "plays")
        assert plays == len(rows_of(packed, silver_of(key), "_offset"))
    _ensure_unnamed_files_go(packed)
    _ensure_each_is_once(packed, produced)


def test_of_two_attempts_that_both_write_all_one_counts(settings, topic, tmp_path):
    """Spark starts a second attempt of a slow task, and neither is ahead of the other."""
    marks = tmp_path / "marks"
    marks.mkdir()
    settings.spark.conf[f"spark.executorEnv.{twins.PLACE}"] = str(marks)
    declare(settings.feeds, topic, f"{twins.__name__}:keep_step")
    produced = produce(topic, pauses.BATCH)
    with Streaming(settings, tmp_path / "log", "--until-caught-up") as streams:
        assert streams.wait(300) == 0, (tmp_path / "log").read_text()
    assert _pieces(marks, attempt=0) == _pieces(marks, attempt=1) != set()
    _ensure_each_is_once(settings, produced)
    untold = in_unnamed_files(settings)
    theirs = {partition for _, partition, _ in untold}
    assert untold == Counter(place for place in produced.elements() if place[1] in theirs)
    _ensure_unnamed_files_go(settings)
    _ensure_each_is_once(settings, produced)


def test_streams_that_a_master_forgot_stand_still_until_they_start_again(
    settings, topic, forgetful, tmp_path
):
    own = settings.spark.model_copy(update={"master": forgetful.master})
    settings = settings.model_copy(update={"spark": own})
    declare(settings.feeds, topic, f"{pauses.__name__}:linger")
    produced = produce(topic, pauses.BATCH)
    with Streaming(settings, tmp_path / "log") as streams:
        wait_for(lambda: in_silver(settings) == produced, "the rows", within_s=180)
        forgetful.kill("master")
        forgetful.start_master()
        wait_for(lambda: not _executors(forgetful), "the executors' end", within_s=120)
        more = produce(topic, pauses.BATCH)
        time.sleep(10)  # of which tasks would need one
        assert streams.poll() is None
        assert in_silver(settings) == produced
    forgetful.wait_for_workers(2)
    with Streaming(settings, tmp_path / "log", "--until-caught-up") as streams:
        assert streams.wait(240) == 0, (tmp_path / "log").read_text()
    _ensure_each_is_once(settings, produced + more)


def _executors(cluster):
    return [*cluster.executors(1), *cluster.executors(2)]


def _pieces(marks, attempt):
    """Those that an attempt came to."""
    return {path.name.partition("-")[2] for path in marks.glob(f"{attempt}-*")}


def _ensure_each_is_once(settings, produced):
    assert differences(in_silver(settings), produced) == []
    in_topic = Counter(tuple(place) for _, *place in produced)
    assert differences(in_bronze(settings), in_topic) == []


def _ensure_unnamed_files_go(settings):
    """There are some of each key, which attempts left that told nobody, until maintenance comes."""
    dead = {key: unnamed_files(settings, key) for key in KEYS}
    assert all(dead.values()), dead
    _maintain(settings)
    later(settings)
    _maintain(settings)
    assert not any(unnamed_files(settings, key) & dead[key] for key in KEYS)


def _maintain(settings):
    done = sparkless_here(settings, "maintain")
    assert done.returncode == 0, done.stderr


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
