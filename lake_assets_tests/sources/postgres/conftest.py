import pytest

from lake_assets.storage.local import LocalStore
from lake_assets_tests.databases import running_postgres


@pytest.fixture(scope="package")
def databases():
    """A real PostgreSQL."""
    with running_postgres() as found:
        yield found


@pytest.fixture
def database(databases):
    """An empty database of it."""
    return databases()


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path)
