"""What `lake_assets` exports: all of it is there, and importing the package costs nothing."""

import subprocess
import sys

import pytest

import lake_assets


def modules_after(code: str) -> set[str]:
    """The modules that a new Python has loaded after this."""
    told = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", told], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_all_that_is_exported_is_there():
    exported = {name: getattr(lake_assets, name) for name in lake_assets.__all__}
    assert set(exported) <= set(dir(lake_assets))
    assert exported["build_defs"].__module__ == "lake_assets.composition.build"
    assert exported["LakeResource"].__name__ == "LakeResource"


def test_what_is_not_exported_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'lake_assets' has no attribute 'build_def'"):
        _ = lake_assets.build_def


def test_the_package_and_the_command_are_imported_without_dagster():
    loaded = modules_after("import lake_assets.cli.main, lake_assets.model.feeds")
    assert {name for name in loaded if name.partition(".")[0].startswith("dagster")} == set()


def test_definitions_are_loaded_without_what_only_runs_need():
    """Half of a location's import went there; each run loads its location again."""
    loaded = modules_after("from lake_assets import build_defs, LakeComponent")
    assert "dagster" in loaded
    heavy = {"pandas", "aiohttp", "confluent_kafka.schema_registry", "lake_assets.streams.run"}
    assert heavy & loaded == set()
