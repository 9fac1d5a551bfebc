"""A Dagster instance of its own for each test."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RemoteJobOrigin

from lake_assets.defs.lake_scope import lake_tags
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.defs.origins import REPOSITORY

_ORIGIN = RemoteJobOrigin(REPOSITORY, "streams")

CreateRun = Callable[..., str]


@dg.job(name="streams")
def streams() -> None:
    """Stands for the real job; the sensor knows it by name alone."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """In memory, which is ten times faster than files."""
    with dg.DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture(scope="session")
def empty_storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An instance's files, with nothing in them: half a second of migrations."""
    folder = tmp_path_factory.mktemp("dagster")
    with dg.DagsterInstance.local_temp(str(folder)) as made:
        made.get_runs(limit=1)
        made.all_asset_keys()
        made.all_instigator_state()
    return folder


@pytest.fixture
def stored(tmp_path: Path, empty_storage: Path) -> Iterator[dg.DagsterInstance]:
    """With files, as users have it; what is handed to another process must be."""
    folder = shutil.copytree(empty_storage, tmp_path / "dagster")
    with dg.DagsterInstance.local_temp(str(folder)) as found:
        yield found


@pytest.fixture
def lake(settings: Settings) -> str:
    """The id of the test's lake."""
    return lake_id(settings)


@pytest.fixture
def run(instance: dg.DagsterInstance, lake: str) -> CreateRun:
    """Records a run of the streams without launching it; returns its id."""

    def create(status: dg.DagsterRunStatus, *, of: str = lake) -> str:
        # Dagster wants an origin of queued runs only, but takes it of any.
        created = instance.create_run_for_job(
            streams, status=status, remote_job_origin=_ORIGIN, tags=lake_tags(of)
        )
        return str(created.run_id)

    return create
