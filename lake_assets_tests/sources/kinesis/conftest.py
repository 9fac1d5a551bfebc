import pytest

from lake_assets.storage.local import LocalStore
from lake_assets_tests.sources.kinesis.streams import running_kinesis


@pytest.fixture(scope="package")
def streams():
    """Moto's server."""
    with running_kinesis() as made:
        yield made


@pytest.fixture
def stream(streams):
    """A name that no stream has yet."""
    return streams()


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path)
