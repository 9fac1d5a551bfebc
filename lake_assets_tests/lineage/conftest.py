from collections.abc import Iterator
from pathlib import Path

import pytest

from lake_assets_tests.lineage.server import Keeper, run_keeper


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    """A server that OpenLineage's variables name."""
    with run_keeper(tmp_path / "events.jsonl") as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "sesame")
        yield server
