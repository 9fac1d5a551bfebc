import os
import subprocess
import sys
from contextlib import contextmanager
from uuid import uuid4

import pytest

from faults.process_table import PART, RUN, WORK, by_role, end_all, role_of, started
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings

SLEEP = "import sys, time; print(flush=True); time.sleep(60)"


@contextmanager
def running(run, part, *words):
    command = [sys.executable, "-c", SLEEP, *words]
    with subprocess.Popen(  # noqa: S603 - our own
        command, env={**child_environment(Settings()), RUN: run, PART: part}, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_only_processes_with_the_runs_mark_are_its_own():
    mine, other = uuid4().hex, uuid4().hex
    with running(mine, "streams") as one, running(other, "streams"):
        assert [(found.pid, found.part) for found in started(mine)] == [(one.pid, "streams")]


def test_at_the_end_whatever_lives_of_a_run_is_killed():
    mine, other = uuid4().hex, uuid4().hex
    with running(mine, "streams") as one, running(other, "streams") as stranger:
        end_all(mine)
        assert one.wait(10) == -9
        assert stranger.poll() is None


def test_roles_are_told_by_command_lines_and_work_is_left_alone():
    run, spark = uuid4().hex, "org.apache.spark.deploy.SparkSubmit"
    with running(run, "streams", spark) as jvm, running(run, WORK, spark):
        found = by_role(run)
        assert found["jvm"] == [jvm.pid]


def test_the_stream_is_who_has_a_jvm():
    run = uuid4().hex
    spark = "org.apache.spark.deploy.SparkSubmit"
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    with subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, "-c", child, SLEEP, spark],
        env={**child_environment(Settings()), RUN: run, PART: "streams"},
        stdout=subprocess.PIPE,
    ) as parent:
        parent.stdout.readline()
        try:
            found = by_role(run)
            assert found["stream"] == [parent.pid]
            assert found["jvm"] != [parent.pid]
        finally:
            for one in started(run):
                os.kill(one.pid, 9)


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("java -Xmx1g org.apache.spark.deploy.SparkSubmit pyspark-shell", "jvm"),
        ("java org.apache.spark.deploy.worker.Worker spark://x", "spark worker"),
        ("java org.apache.spark.executor.CoarseGrainedExecutorBackend", "executor"),
        ("python -m lake_assets.spark.daemon pyspark.worker", "python worker"),
        ("java -cp x kafka.Kafka server.properties", "broker"),
        ("java -Dapicurio.storage.kind=sql -jar registry.jar", "registry"),
        ("java -jar s3proxy-2.9.0.jar --properties s3proxy.conf", "store"),
        ("python -m dagster api grpc --module-name lake_assets.definitions", "code server"),
        ("/bin/sh code-server.sh python -m dagster api grpc --port 1", None),
        ("python -m dagster._daemon run --workspace w", "daemon"),
        ("python -m dagster_webserver --port 1", "webserver"),
        ("python -m lake_assets maintain", None),
    ],
)
def test_a_command_line_says_what_a_process_is(command, role):
    assert role_of(command) == role
