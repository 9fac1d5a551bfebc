"""What tests of several rooms share: settings with a home of their own, and real services."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from lake_assets.lake.session import start_session
from lake_assets.model.endpoints import Endpoints
from lake_assets.runtime.setup import Runtime, ensure_runtime
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings, SparkSettings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets its background jobs ignore SIGINT. Children would inherit that, and Dagster lets
    # SIGTERM do what SIGINT does, so that nothing could be asked to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home of its own; nothing runs there."""
    return Settings(home=tmp_path / "home", runtime=load_settings().runtime)


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    """A broker and a registry, one pair for the whole run; use topics of your own."""
    home = tmp_path_factory.mktemp("services")
    shared = Settings(home=home, runtime=load_settings().runtime)
    try:
        yield control.up(shared)
    finally:
        control.down(shared)


@pytest.fixture
def connected(settings: Settings, services: Endpoints) -> Settings:
    """A home of its own that uses the shared broker and registry."""
    own = {
        "kafka": KafkaSettings(bootstrap_servers=services.kafka),
        "registry": RegistrySettings(url=services.registry),
    }
    return settings.model_copy(update=own)


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """What the Spark session of the run is started with."""
    return Settings(
        home=tmp_path_factory.mktemp("spark"),
        runtime=load_settings().runtime,
        spark=SparkSettings(
            master="local[2]",
            driver_memory="600m",
            conf={"spark.sql.shuffle.partitions": "1"},
        ),
    )


@pytest.fixture(scope="session")
def runtime(spark_settings: Settings) -> Runtime:
    """Java and Spark's jars, looked for once."""
    return ensure_runtime(spark_settings)


@pytest.fixture
def spark(spark_settings: Settings, runtime: Runtime) -> SparkSession:
    """The one Spark session of the run; a new one where a test of something that stops Spark ran.

    It is left running for the next test, and ends with this process.
    """
    return start_session(spark_settings, runtime)


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    """A process that does nothing until it is ended; no test waits for its minute to pass."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()
