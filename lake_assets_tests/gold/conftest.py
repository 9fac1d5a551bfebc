"""A lake of its own for each test of gold, and the means to change it."""

import pytest

from lake_assets.spark.lake_context import open_lake


@pytest.fixture
def lake(settings):
    return settings.lake_dir


@pytest.fixture
def context(settings):
    with open_lake(settings) as found:
        yield found
