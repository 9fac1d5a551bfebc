"""A start on a cluster that gives nothing: it fails in words and in time, and leaves nothing."""

import subprocess
import time
from pathlib import Path

import psutil
import pytest

from lake_assets.delta.log_history import open_table
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import StorageSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.commandline import COMMAND
from lake_assets_tests.e2e.dev import ROOT, wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import silver_of
from lake_assets_tests.spark.standalone import EXECUTOR, run_cluster

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.long]

FEED = """
feed: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{json: {{schema: "game string, score long"}}}}
route: {{column: game, keys: [uno]}}
"""

WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"

NOWHERE = "spark://127.0.0.1:9"

_TWICE = """
import sys
from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings
from lake_assets.spark.session import start_session

settings = load_settings()
runtime = ensure_runtime(settings)
try:
    start_session(settings, runtime)
except RuntimeSetupError as problem:
    print("refused:", problem)
there = settings.spark.model_copy(update={"master": sys.argv[1]})
session = start_session(settings.model_copy(update={"spark": there}), runtime)
print("counted", session.range(3).count())
session.stop()
"""


@pytest.fixture
def cluster(spark_settings, tmp_path):
    """A master that has no worker."""
    java = ensure_runtime(spark_settings).java
    with run_cluster(java, tmp_path / "cluster", workers=0) as found:
        yield found


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.fixture
def settings(connected, topic, s3, bucket, cluster, tmp_path):
    """They wait for executors for three seconds."""
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "games.yaml").write_text(FEED.format(topic=topic.name))
    conf = {**EXECUTOR, "spark.executorEnv.PYTHONPATH": str(ROOT), WAIT: "3s"}
    return connected.model_copy(
        update={
            "feeds": tmp_path / "feeds",
            "lake": Path(f"s3://{bucket}/lake"),
            "storage": StorageSettings(options=s3.options),
            "spark": SparkSettings(master=cluster.master, driver_memory="600m", conf=conf),
        }
    )


def test_streams_end_in_time_and_begin_once_there_is_a_worker(settings, topic, s3, bucket, cluster):
    places = topic.produce(*[b'{"game": "uno", "score": 1}'] * 100)
    status, said, left = _stream(settings)
    assert status == 1
    assert f"{cluster.master} gave no executor within 3 s" in said
    assert "free cores and memory" in said
    assert "Traceback" not in said
    assert left == []
    # The lake has its id: no table, nobody's lease, and no batch begun.
    assert s3.keys(bucket) == ["lake/_lake.json"]
    assert not [*settings.state_dir.rglob("journals/*"), *settings.state_dir.rglob("checkpoints/*")]
    wait_for(lambda: not cluster.told()["activeapps"], "the application's end", within_s=120)
    cluster.start_worker(1)
    cluster.wait_for_workers(1)
    del settings.spark.conf[WAIT]
    status, said, _ = _stream(settings)
    assert status == 0, said
    rows = open_table(lake_of(settings), silver_of("uno")).to_pyarrow_table()
    found = zip(rows["_partition"].to_pylist(), rows["_offset"].to_pylist(), strict=True)
    assert sorted(found) == sorted(places)


def test_a_process_whose_master_did_not_answer_starts_again_at_another(
    settings, cluster, monkeypatch
):
    cluster.start_worker(1)
    cluster.wait_for_workers(1)
    del settings.spark.conf[WAIT]
    own = settings.spark.model_copy(update={"master": NOWHERE})
    for name, value in child_environment(settings.model_copy(update={"spark": own})).items():
        monkeypatch.setenv(name, value)
    said = run_program(_TWICE, [cluster.master])
    assert f"refused: Spark: did not start: {NOWHERE} did not answer" in said
    assert "counted 3" in said


def _stream(settings):
    """How streams that catch up end, what they say, and what is left of their processes."""
    command = [*COMMAND, "stream", "--until-caught-up"]
    log = settings.feeds.parent / "log"
    seen = set()
    with (
        log.open("w") as output,
        subprocess.Popen(  # noqa: S603 - our own command line
            command, env=child_environment(settings), stdout=output, stderr=output
        ) as process,
    ):
        while process.poll() is None:
            try:
                seen |= {*psutil.Process(process.pid).children(recursive=True)}
            except psutil.NoSuchProcess:
                break
            time.sleep(0.1)
    assert seen
    _, left = psutil.wait_procs(seen, timeout=20)
    return process.returncode, log.read_text(), left
