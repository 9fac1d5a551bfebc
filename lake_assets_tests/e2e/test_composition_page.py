"""The examples of docs/composition.md: projects of their own, by Dagster's own commands."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets import partitions_of
from lake_assets.feeds.load import load_feeds
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets_tests.wheels import ROOT, install_wheel

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "composition.md").read_text()

DEFINITIONS = """
from pathlib import Path
from dagster import definitions, load_from_defs_folder

@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
"""As `create-dagster project` writes it."""

PROJECT = """
[project]
name = "shop"
version = "0.1.0"

[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "shop"
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs commands of an environment that has the wheel, and nothing of this tree."""
    commands = install_wheel(tmp_path_factory.mktemp("wheel"))

    def run(folder: Path, command: str, **environment: str) -> str:
        program, *arguments = shlex.split(command)
        module = {"dg": "dagster_dg_cli.cli", "dagster": "dagster._cli"}[program]
        start = f"from {module} import main; main()"
        done = subprocess.run(  # noqa: S603 - the page's commands
            [commands / "python", "-W", "ignore", "-c", start, *arguments],
            cwd=folder,
            env={
                **child_environment(Settings()),
                "PYTHONPATH": str(folder / "src"),
                "DAGSTER_DG_CLI_TELEMETRY_ENABLED": "0",
                "COLUMNS": "200",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def feeds(tmp_path):
    (tmp_path / "feeds").mkdir()
    shipped = ROOT / "lake_assets" / "feeds" / "games.yaml"
    (tmp_path / "feeds" / "games.yaml").write_text(shipped.read_text())
    return load_feeds(tmp_path / "feeds")


def test_an_asset_of_a_project_reads_a_lake_that_is_merged_into_it(run, tmp_path, feeds):
    example, _ = blocks("python")
    (tmp_path / "definitions.py").write_text(example.replace("/data/", f"{tmp_path}/"))
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.from_config(str(home)) as instance:
        partitions = str(partitions_of("games", lake=tmp_path / "lake").name)  # makes the lake
        instance.add_dynamic_partitions(partitions, ["poker"])
        (feed,) = feeds
        table = feed.gold_table(feed.view("player_agg"), "poker")
        players = pa.table({"gamer_id": ["ann", "bob", "cyd"], "session_count": [1, 4, 1]})
        write_deltalake(tmp_path / "lake" / table.relative, players)
        run(
            tmp_path,
            "dagster asset materialize -f definitions.py --select churn --partition poker",
            DAGSTER_HOME=str(home),
        )
        newest = instance.fetch_materializations(dg.AssetKey("churn"), limit=1).records[0]
        assert newest.partition_key == "poker"
        assert newest.asset_materialization.metadata["dagster/row_count"].value == 2


@pytest.mark.usefixtures("feeds")
def test_two_locations_of_one_instance_have_a_lake_or_two(run, tmp_path):
    """Each is loaded by a code server of its own; the second example is two lakes in one."""
    first, second = blocks("python")
    (tmp_path / "one.py").write_text(first.replace("/data/", f"{tmp_path}/"))
    (tmp_path / "two.py").write_text(second.replace("/data/", f"{tmp_path}/"))
    (tmp_path / "workspace.yaml").write_text(
        "load_from:\n- python_file: one.py\n- python_file: two.py\n"
    )
    (tmp_path / "dagster.yaml").write_text(blocks("yaml")[0])
    run(
        tmp_path,
        "dagster definitions validate -w workspace.yaml",
        DAGSTER_HOME=str(tmp_path),
    )
    ids = [json.loads((tmp_path / name / "_lake.json").read_text())["id"] for name in LAKES]
    assert len(set(ids)) == 3


LAKES = ("lake", "live", "test")


@pytest.mark.long
def test_components_are_found_scaffolded_and_checked(run, tmp_path):
    defs = tmp_path / "src" / "shop" / "defs"
    defs.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (defs.parent / "__init__.py").touch()
    (defs / "__init__.py").touch()
    (defs.parent / "definitions.py").write_text(DEFINITIONS)
    (page,) = blocks("sh")
    told = {command: run(tmp_path, command) for command in page.splitlines()}
    for name in ("LakeComponent", "FeedComponent"):
        assert f"lake_assets.{name}" in told["dg list components"]
    assert "All definitions loaded successfully" in told["dg check defs"]
    _, lake, feed = blocks("yaml")
    assert (defs / "lake" / "defs.yaml").read_text() == lake
    assert (defs / "games" / "defs.yaml").read_text() == feed
    assert (tmp_path / "feeds" / "games.yaml").exists()
    assert (tmp_path / "lake" / "_lake.json").exists()
    listed = json.loads(run(tmp_path, "dg list defs --json"))
    assets = {asset["asset_key"]: asset for asset in listed["assets"]}
    assert {"game_stream", "bronze_games", "silver_events", "erasures"} <= set(assets)
    assert assets["gold_player_agg"]["group_name"] == "games"
    assert {"streams", "rebuild"} <= {job["name"] for job in listed["jobs"]}
    assert {"supervisor", "alerts"} <= {sensor["name"] for sensor in listed["sensors"]}
