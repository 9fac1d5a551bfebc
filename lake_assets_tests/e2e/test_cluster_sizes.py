"""Streams on a Spark cluster whose executors come as rows wait, and go when none do."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import StorageSettings, StreamSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets_tests.e2e import pauses
from lake_assets_tests.e2e.dev import ROOT, wait_for
from lake_assets_tests.e2e.on_a_cluster import (
    Streaming,
    declare,
    differences,
    in_bronze,
    in_silver,
    produce,
)
from lake_assets_tests.events import Topic
from lake_assets_tests.spark.standalone import EXECUTOR, run_cluster

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.long]

COMING_AND_GOING = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": "6s",
}


@pytest.fixture
def cluster(spark_settings, tmp_path):
    java = ensure_runtime(spark_settings).java
    with run_cluster(java, tmp_path / "cluster") as found:
        yield found


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.fixture
def settings(connected, topic, s3, bucket, cluster, tmp_path):
    """Executors have this process' Python; tasks take a while."""
    declare(tmp_path / "feeds", topic, f"{pauses.__name__}:linger")
    conf = {
        **EXECUTOR,
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    }
    return connected.model_copy(
        update={
            "feeds": tmp_path / "feeds",
            "lake": Path(f"s3://{bucket}/lake"),
            "storage": StorageSettings(options=s3.options),
            "stream": StreamSettings(max_rows_per_batch=pauses.BATCH),
            "spark": SparkSettings(master=cluster.master, driver_memory="600m", conf=conf),
        }
    )


@pytest.mark.parametrize("most", [{}, {"spark.dynamicAllocation.maxExecutors": "2"}])
def test_executors_come_as_rows_wait_and_go_when_none_do(settings, topic, cluster, tmp_path, most):
    settings.spark.conf.update(COMING_AND_GOING | most)
    topic.create()
    produced = produce(topic, 3)
    with Streaming(settings, tmp_path / "log") as streams:
        _await_rows(settings, produced)
        for _ in range(2):
            wait_for(lambda: _executors(cluster) == 1, "the other's end", within_s=90)
            produced += produce(topic, 3 * pauses.BATCH)
            wait_for(lambda: _executors(cluster) == 2, "the other", within_s=90)
            _await_rows(settings, produced)
        streams.send_signal(signal.SIGINT)
        assert streams.wait(60) == 0, (tmp_path / "log").read_text()
    _ensure_each_is_once(settings, produced)


def _executors(cluster):
    return sum(len(cluster.executors(number)) for number in (1, 2))


def _await_rows(settings, produced):
    wait_for(lambda: in_silver(settings).total() >= produced.total(), "the rows", within_s=180)


def _ensure_each_is_once(settings, produced):
    assert differences(in_silver(settings), produced) == []
    in_topic = Counter(tuple(place) for _, *place in produced)
    assert differences(in_bronze(settings), in_topic) == []
