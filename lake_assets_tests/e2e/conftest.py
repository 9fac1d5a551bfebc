"""A real `dagster dev` with its storage in a temporary folder, and a lake with a topic to fill."""

import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from lake_assets.model.endpoints import Endpoints
from lake_assets.settings.schema import Settings
from lake_assets_tests.e2e.dev import ROOT, Dev
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.streams.lakes import Places, StreamedLake


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a `seed` is one for each sequence of random faults: one, more at night."""
    if "seed" in metafunc.fixturenames:
        seeds = range(metafunc.config.getoption("--sequences"))
        metafunc.parametrize("seed", with_long(seeds, long=seeds[1:]))


@pytest.fixture
def dev(connected: Settings, tmp_path: Path) -> Iterator[Dev]:
    """A home for Dagster, with the repo's configuration; killed at the end whatever happens."""
    home = tmp_path / "dagster"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    found = Dev(connected, home)
    yield found
    found.signal_group(signal.SIGKILL)
    found.wait_until_gone(within_s=180)


@pytest.fixture
def instance(dev: Dev) -> Iterator[dg.DagsterInstance]:
    """The instance that `dev` keeps, read from outside."""
    with dg.DagsterInstance.from_config(str(dev.home)) as found:
        yield found


@pytest.fixture
def lake(spark: SparkSession, services: Endpoints, settings: Settings) -> StreamedLake:
    """A lake of its own, whose streams run in the test's Spark."""
    return StreamedLake(spark, settings, Topic(services))


@pytest.fixture
def known(lake: StreamedLake) -> int:
    """The id of a schema that the lake's topic has."""
    return lake.topic.register(0)


@pytest.fixture
def produce(lake: StreamedLake, known: int) -> Callable[..., Places]:
    """Sends so many events of some games in turn, and bad ones; tells where they are."""

    def go(count: int, keys: Sequence[str] = ("uno", "go_fish"), bad: int = 0) -> Places:
        good = [framed(known, keys[i % len(keys)], gamer=f"g{i}") for i in range(count)]
        return Counter(lake.topic.produce(*good, *[b"bad"] * bad))

    return go
