import pytest

from lake_assets.composition import build, components, keys
from lake_assets.composition.built_lakes import BuiltLakes


@pytest.fixture(autouse=True)
def built(monkeypatch, tmp_path):
    """As in a process that has built no lake; the environment says nothing but a home."""
    fresh = BuiltLakes()
    for module in (build, components, keys):
        monkeypatch.setattr(module, "built_lakes", fresh)
    monkeypatch.setenv("LAKE_ASSETS_HOME", str(tmp_path / "home"))
    for name in ("LAKE", "STATE", "FEEDS", "DAGSTER_KEY_PREFIX"):
        monkeypatch.delenv(f"LAKE_ASSETS_{name}", raising=False)
    return fresh
