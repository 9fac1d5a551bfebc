"""A lake of three batches, a place for its backups, and another home to put them back into."""

import pytest

from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake


@pytest.fixture
def lake(settings):
    made = BatchedLake(settings)
    for _ in range(3):
        made.ingest()
        made.demux(UNO, FISH)
        made.refresh()
    yield made
    made.committer.close()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place"


@pytest.fixture
def elsewhere(settings, tmp_path):
    return settings.model_copy(update={"home": tmp_path / "elsewhere"})
