"""Servers that speak as stores do, one of a kind for all of a process, and a test's own buckets."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from lake_assets.runtime.jars import ensure_groups
from lake_assets.runtime.java import find_java
from lake_assets.settings.load import load_settings
from lake_assets_tests.storage.azurite import Azurite, run_azurite
from lake_assets_tests.storage.gcs import Gcs, run_gcs
from lake_assets_tests.storage.seaweed import Seaweed, run_seaweed
from lake_assets_tests.storage.servers import BOTH, S3Server, run_s3

LakeServer = S3Server | Azurite | Seaweed | Gcs
"""What lakes of long tests may be on."""


def _asked_for(request: pytest.FixtureRequest, option: str) -> Path:
    """The program that an option names; without the option the test is skipped."""
    program: Path | None = request.config.getoption(option)
    if program is None:
        pytest.skip(f"needs {option}")
    return program


@pytest.fixture(scope="session")
def moto() -> Iterator[S3Server]:
    """A server for the whole run; use buckets of your own, and forgive what you let go wrong."""
    with run_s3() as server:
        yield server


@pytest.fixture(scope="session")
def s3proxy() -> Iterator[S3Server]:
    """Another one."""
    with run_s3("s3proxy") as server:
        yield server


@pytest.fixture(scope="session")
def azurite(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Azurite]:
    """A server that speaks as Azure does, where `--azurite` says that there is one."""
    program = _asked_for(request, "--azurite")
    with run_azurite(program, tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.fixture(scope="session")
def gcs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gcs]:
    """A server that speaks as Google does, where `--gcs` says that there is one.

    From then on all of this run ask it in place of Google, and no Java reaches a repository.
    """
    program = _asked_for(request, "--gcs")
    runtime = load_settings().runtime
    java = find_java(runtime.cache)
    ensure_groups(("spark", "google"), java, runtime)
    folder = tmp_path_factory.mktemp("gcs")
    with run_gcs(program, folder, java.home) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture(scope="session")
def seaweed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Seaweed]:
    """The server of docker/compose.yaml, where `--weed` says that there is one."""
    program = _asked_for(request, "--weed")
    with run_seaweed(program, tmp_path_factory.mktemp("seaweed")) as server:
        yield server


@pytest.fixture
def s3(moto: S3Server) -> S3Server:
    """A server; modules whose tests run on both say `either_s3` here."""
    return moto


@pytest.fixture(params=BOTH)
def either_s3(request: pytest.FixtureRequest) -> S3Server:
    """Each of the servers."""
    server: S3Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def lake_server(request: pytest.FixtureRequest) -> LakeServer:
    """What long tests of lakes in a bucket run on; `--s3` says which of the servers."""
    server: LakeServer = request.getfixturevalue(request.config.getoption("--s3"))
    return server


@pytest.fixture
def bucket(s3: LakeServer) -> str:
    """A bucket of the test's own."""
    name = f"bucket-{uuid4()}"
    s3.make_bucket(name)
    return name
