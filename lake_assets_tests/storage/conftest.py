"""A server that speaks S3, for the tests of this room."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from lake_assets_tests.storage.servers import S3Server, run_s3


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A server for the whole run; use buckets of your own."""
    with run_s3() as server:
        yield server


@pytest.fixture
def bucket(s3: S3Server) -> str:
    """A bucket of the test's own."""
    name = f"bucket-{uuid4()}"
    s3.make_bucket(name)
    return name
