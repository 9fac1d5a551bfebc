"""What tests of several rooms share: settings with a home of their own, real services, and marks.

A test that starts a Java has a mark that says so, and `make test-fast` leaves it out: what its
fixtures start marks it by itself, and no process of a test without a mark can start one.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from pydantic import SecretStr
from pyspark.sql import SparkSession

from lake_assets import feeds as shipped_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.runtime.setup import Runtime, ensure_runtime
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings
from lake_assets.settings.spark import SparkSettings
from lake_assets.spark.session import start_session
from lake_assets_tests import spark_sessions
from lake_assets_tests.services.secured import Secured, secured_broker
from lake_assets_tests.services.secured_registry import SecuredRegistry, run_secured_registry
from lake_assets_tests.storage.fixtures import (
    LakeServer,
    azurite,
    bucket,
    either_s3,
    gcs,
    lake_server,
    moto,
    s3,
    s3proxy,
    seaweed,
)
from lake_assets_tests.where_lakes_are import BUCKET, Located, located_in

__all__ = [
    "azurite",
    "bucket",
    "either_s3",
    "gcs",
    "lake_server",
    "moto",
    "s3",
    "s3proxy",
    "seaweed",
]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets its background jobs ignore SIGINT. Children would inherit that, and Dagster lets
    # SIGTERM do what SIGINT does, so that nothing could be asked to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SERVERS = ("moto", "s3proxy", "seaweed", "azurite", "gcs")
"""That lakes of long tests may be on."""

MARK_OF_FIXTURE = {"spark": "spark", "runtime": "java", "services": "kafka", "gcs": "java"}
"""What the shared fixtures start."""

NEEDS_JAVA = {"java", "spark", "kafka", "slow"}

NO_JAVA = "--this-test-has-no-mark-java-spark-kafka-or-slow"
"""An option that no Java knows; each reads its options from a variable, too."""

SLOW_LIMIT_S = 900

SPARK = SparkSettings(master="local[2]", driver_memory="600m")
"""Of the session that tests share, and of the commands that find it there."""

SERVICES_HOME = pytest.StashKey[Path]()
"""Home of the services that all processes of the run share."""

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""A test's Spark lives for seconds, and what the second compiler would gain comes after its end: a
start and a few small jobs cost 24 s of CPU so, and 46 s with both compilers.

With one compiler Java keeps 48 MB for its code. The session of a run, which all tests share, fills
that within minutes; then methods are thrown out, and compiled again when they are next used.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Let Spark start quickly, in this process and in all that tests start; repeat examples.

    Hypothesis (tried on 6.170) mixes constants of the modules that are loaded into what it draws,
    also where `derandomize` is set: the same test would get other examples in a whole run. Its
    profile `ci` repeats examples, and has no deadline, which a busy machine would miss.
    """
    hypothesis.settings.load_profile("ci")
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setattr(providers, "_get_local_constants", Constants)
    patch.setattr(SparkSession, "stop", spark_sessions.leave_running)
    patch.setattr(SparkSession.Builder, "getOrCreate", spark_sessions.get_interpreted)
    patch.setenv("SPARK_LAUNCHER_OPTS", QUICK_JAVA)
    patch.setenv("SPARK_SUBMIT_OPTS", QUICK_JAVA)
    if not hasattr(config, "workerinput"):
        config.stash[SERVICES_HOME] = Path(tempfile.mkdtemp(prefix="services-"))
        config.add_cleanup(partial(_end_services, config.stash[SERVICES_HOME]))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of pytest-xdist where the services of all of them are."""
    node.workerinput["services_home"] = str(node.config.stash[SERVICES_HOME])


def _end_services(home: Path) -> None:
    if any(home.iterdir()):
        control.down(Settings(home=home))
    shutil.rmtree(home)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they use, before `-m` chooses among them; set slow ones' limit."""
    for item in items:
        for fixture in MARK_OF_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARK_OF_FIXTURE[fixture])
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let no process that an unmarked test starts, at whatever remove, start a Java."""
    with pytest.MonkeyPatch.context() as patch:
        if not _needs_java(item):
            patch.setenv("JDK_JAVA_OPTIONS", NO_JAVA)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say why a Java did not start, and end the run where Spark hangs.

    The thread that waits for Spark has one connection to it; what hangs keeps that busy, so that
    each later test would wait for its limit as well.
    """
    report = yield
    if report.failed and not _needs_java(item) and "java" in str(report.longrepr).lower():
        marks = ", ".join(sorted(NEEDS_JAVA))
        report.sections.append(("Java", f"A test starts one only with a mark: {marks}"))
    timed_out = call.excinfo is not None and str(call.excinfo.value).startswith("Timeout (>")
    if timed_out and item.get_closest_marker("spark"):
        item.session.shouldstop = f"{item.nodeid} hung in Spark"
    return report


def _needs_java(item: pytest.Item) -> bool:
    return not NEEDS_JAVA.isdisjoint(mark.name for mark in item.iter_markers())


def pytest_addoption(parser: pytest.Parser) -> None:
    """How far tests go that draw what happens, and where lakes in a bucket are."""
    parser.addoption("--s3", choices=_SERVERS, default="s3proxy", help="of long tests")
    parser.addoption("--azurite", type=Path, help="Azurite's blob/main.js, for tests on it")
    parser.addoption("--gcs", type=Path, help="fake-gcs-server, for tests on it")
    parser.addoption("--weed", type=Path, help="SeaweedFS's program, for tests on it")
    places = ("folder", *_SERVERS)
    parser.addoption("--lake", choices=places, default="folder", help="of tests of random faults")
    parser.addoption("--fuzz-seconds", type=float, help="of random input; a few without")
    parser.addoption("--sequences", type=int, default=4, help="of random faults")
    parser.addoption("--steps", type=int, default=10, help="of each sequence of random faults")
    parser.addoption("--examples", type=int, default=2, help="of each random test with Spark")


@pytest.fixture(scope="session")
def few_examples(request: pytest.FixtureRequest) -> hypothesis.settings:
    """For tests in which Spark works for seconds on each example; `--examples 50` draws more."""
    return hypothesis.settings(
        max_examples=request.config.getoption("--examples"),
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="session")
def feed_of_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shipped feed `games` alone: streams of two feeds cost twice as much."""
    folder = tmp_path_factory.mktemp("feeds")
    shutil.copy(Path(shipped_feeds.__file__).with_name("games.yaml"), folder)
    return folder


@pytest.fixture
def settings(tmp_path: Path, feed_of_games: Path) -> Settings:
    """A home of its own, and the feed `games`; nothing runs there."""
    return Settings(
        home=tmp_path / "home", feeds=feed_of_games, runtime=load_settings().runtime, spark=SPARK
    )


@pytest.fixture(scope="session")
def services(pytestconfig: pytest.Config) -> Endpoints:
    """A broker and a registry, one pair for all processes of the run; use topics of your own.

    Who needs them first starts them; they end with the run.
    """
    told = getattr(pytestconfig, "workerinput", None)
    home = pytestconfig.stash[SERVICES_HOME] if told is None else Path(told["services_home"])
    return control.up(Settings(home=home, runtime=load_settings().runtime))


@pytest.fixture
def connected(settings: Settings, services: Endpoints) -> Settings:
    """A home of its own that uses the shared broker and registry."""
    own = {
        "kafka": KafkaSettings(bootstrap_servers=services.kafka),
        "registry": RegistrySettings(url=services.registry),
    }
    return settings.model_copy(update=own)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker with TLS and passwords, one for the whole run; use topics of your own."""
    home = tmp_path_factory.mktemp("secured")
    with secured_broker(Settings(home=home, runtime=load_settings().runtime)) as found:
        yield found


@pytest.fixture(scope="session")
def secured_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredRegistry]:
    """A registry with HTTPS and passwords, one for the whole run; use subjects of your own."""
    home = tmp_path_factory.mktemp("secured-registry")
    with run_secured_registry(Settings(home=home, runtime=load_settings().runtime)) as found:
        yield found


@pytest.fixture(scope="session")
def located(request: pytest.FixtureRequest) -> Located:
    """Has a lake of some settings be where `--lake` says, and no other lake."""
    place = request.config.getoption("--lake")
    if place == "folder":
        return located_in(None)
    server: LakeServer = request.getfixturevalue(place)
    server.make_bucket(BUCKET)
    return located_in(server)


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory, located: Located) -> Settings:
    """What the Spark session of the run is started with."""
    return located(
        Settings(
            home=tmp_path_factory.mktemp("spark"),
            runtime=load_settings().runtime,
            spark=SPARK.model_copy(
                update={"conf": {"spark.sql.shuffle.partitions": SecretStr("1")}}
            ),
        )
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
    session = start_session(spark_settings, runtime)
    spark_sessions.note_properties(session, spark_settings)
    return session


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    """A process that does nothing until it is ended; no test waits for its minute to pass."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()
