"""Servers that speak S3, one of a kind for all tests of a process, and buckets of a test's own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from lake_assets_tests.storage.azurite import Azurite, run_azurite
from lake_assets_tests.storage.seaweed import Seaweed, run_seaweed
from lake_assets_tests.storage.servers import BOTH, S3Server, run_s3

LakeServer = S3Server | Azurite | Seaweed
"""What lakes of long tests may be on."""


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
    program = request.config.getoption("--azurite")
    if program is None:
        pytest.skip("needs --azurite")
    with run_azurite(program, tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.fixture(scope="session")
def seaweed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Seaweed]:
    """The server of docker/compose.yaml, where `--weed` says that there is one."""
    program = request.config.getoption("--weed")
    if program is None:
        pytest.skip("needs --weed")
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
