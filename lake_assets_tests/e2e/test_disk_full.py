"""A lake whose disk fills up while its streams run."""

import json
import os
import subprocess
import sys

import pytest

from lake_assets_tests.e2e.doomed import Job
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

_NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
"""In which the test may make a small file system; who is not root becomes it there."""


def test_streams_wait_for_space_and_lose_nothing(services, settings):
    topic = Topic(services)
    places = topic.produce(*(os.urandom(20_000) for _ in range(60)))
    job = Job(
        settings=settings, feed=topic.feed(), kafka=services.kafka, registry=services.registry
    )
    topic.register(0)
    command = [*_NAMESPACE, sys.executable, "-m", "lake_assets_tests.e2e.disk_full"]
    done = subprocess.run(  # noqa: S603 - our own program
        command,
        input=job.model_dump_json(),
        stdout=subprocess.PIPE,
        text=True,
        timeout=240,
        check=True,
    )
    found = json.loads(done.stdout)
    assert "the disk takes no data (no space left on device)" in found["said"][0]
    expected = sorted(map(list, places))
    assert found["places"] == {"bronze_games": expected, "quarantine_games": expected}
    assert found["beat"]
