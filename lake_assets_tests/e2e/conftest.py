"""A real `dagster dev` for a test, with its storage in a temporary folder."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from lake_assets.settings.schema import Settings
from lake_assets_tests.e2e.dev import ROOT, Dev


@pytest.fixture
def dev(connected: Settings, tmp_path: Path) -> Iterator[Dev]:
    """A home for Dagster, with the repo's configuration; killed at the end whatever happens."""
    home = tmp_path / "dagster"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    found = Dev(connected, home)
    yield found
    found.signal_group(signal.SIGKILL)
    found.wait_until_gone(within_s=20)


@pytest.fixture
def instance(dev: Dev) -> Iterator[dg.DagsterInstance]:
    """The instance that `dev` keeps, read from outside."""
    with dg.DagsterInstance.from_config(str(dev.home)) as found:
        yield found
