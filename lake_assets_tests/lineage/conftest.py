import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lake_assets_tests.lineage.server import Keeper, run_keeper


@pytest.fixture
def own_environment() -> Iterator[None]:
    """What OpenLineage's client notes in this process's variables is gone at the end."""
    before = dict(os.environ)  # noqa: TID251 - of the test's process
    yield
    os.environ.clear()  # noqa: TID251
    os.environ.update(before)  # noqa: TID251


@pytest.fixture
def keeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_environment: None
) -> Iterator[Keeper]:
    """A server that OpenLineage's variables name."""
    del own_environment
    with run_keeper(tmp_path / "events.jsonl") as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "sesame")
        yield server
