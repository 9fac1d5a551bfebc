"""A lake of its own for each test of gold, and the means to change it."""

import pytest

from lake_assets.lake.means import lake_means


@pytest.fixture
def lake(settings):
    return settings.lake_dir


@pytest.fixture
def means(settings):
    with lake_means(settings) as found:
        yield found
