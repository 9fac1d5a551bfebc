import pytest

from lake_assets_tests.sinks.rest.api import running_api


@pytest.fixture
def api(tmp_path):
    """A real API in a process of its own."""
    with running_api(tmp_path) as found:
        yield found
