"""The README's commands and the documentation's queries, run as they stand, in their order."""

import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.logs.entries import SCHEMAS, entry_of
from lake_assets.logs.write import append
from lake_assets.settings.load import child_environment
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.logs.reports import demuxed
from lake_assets_tests.wheels import install_wheel

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def _commands(section: str) -> list[str]:
    text = (ROOT / "README.md").read_text()
    body = text.split(f"## {section}\n", 1)[1]
    block = re.search(r"```sh\n(.*?)```", body, re.DOTALL)
    assert block
    return [line.split("  #")[0].strip() for line in block[1].splitlines()]


def test_the_commands_work_together_as_the_readme_has_them(settings, tmp_path):
    """From the wheel, with the project it makes; the last brings the services down again."""
    folder, project = install_wheel(tmp_path), tmp_path / "project"
    usual = child_environment(settings)
    subprocess.run([folder / "lake-assets", "init", project], env=usual, check=True)  # noqa: S603 - ours
    environment = child_environment(settings.model_copy(update={"feeds": project / "feeds"}))
    environment.pop("PYTHONPATH", None)  # of the tree
    subprocess.run(  # noqa: S603 - the project's own check
        [folder / "python", "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"],
        env=environment,
        cwd=project,
        check=True,
    )
    commands = _commands("The commands")
    assert len(commands) > 5
    for command in commands:
        words = shlex.split(command.replace(".venv/bin", str(folder)))
        done = subprocess.run(  # noqa: S603 - the README's own commands
            words, cwd=project, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "gold_poker_player_agg" in _shown(environment, folder)


def test_the_queries_run_on_the_logs(settings):
    block = re.search(r"```sql\n(.*?)```", (ROOT / "docs" / "operations.md").read_text(), re.DOTALL)
    assert block
    feed = find_feed(load_feeds(None), "games")
    with open_lake(settings) as context:
        append(context, [entry_of(demuxed(0), feed, datetime.now(UTC))])
    answers = []
    with duckdb.connect() as db:
        for table in SCHEMAS:
            found = DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table()
            db.register(table.name, found)
        queries = [query for query in block[1].split(";") if query.strip()]
        answers = [db.execute(query).fetchall() for query in queries]
    assert answers == [[("demux", 1, 2, 0.0, None)], [("uno", "gamer_is_known", 1 / 3)]]


def test_the_feed_that_the_readme_shows_is_a_feed(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "games.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert feed.keys == ("rummy", "spades", "chess")


def test_the_feeds_that_the_guide_shows_are_feeds(tmp_path):
    guide = (ROOT / "docs" / "guide.md").read_text()
    blocks = {b.split(":")[0]: b for b in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)}
    shipped = (ROOT / "lake_assets" / "feeds" / "games.yaml").read_text()
    head, _ = shipped.split("expectations:")
    text = (
        head
        + blocks["expectations"]
        + blocks["checks"].replace(
            "    # ...\n", "    keys: [gamer_id]\n    measures: {session_count: count(*)}\n"
        )
    )
    (tmp_path / "games.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert [check.name for check in feed.checks] == ["origins_are_unique", "some_rows", "is_fresh"]
    assert feed.gold[0].checks[0].equals_source == "session_count"
    (tmp_path / "games.yaml").write_text(head + blocks["gold"])
    (feed,) = load_feeds(tmp_path)
    assert [view.is_over_all for view in feed.gold] == [False, False, True]


def test_every_make_command_leads_to_what_the_readme_says():
    """Each is run for real by CI or by the tests of the command behind it."""
    readme = (ROOT / "README.md").read_text()
    targets = dict.fromkeys(re.findall(r"^make ([a-z-]+)", readme, re.MULTILINE))
    behind = {
        "demo": "lake-assets demo",
        "demo-once": "lake-assets demo --once",
        "check": "ruff check",
        "test": '-m "not (bench or long)"',
        "test-bench": "-m bench",
        "test-long": "-m long",
        "test-fast": '-m "not (bench or long or java or spark or kafka or slow)"',
        "bench": "python -m benchmarks",
        "docs": "python -m mkdocs build --strict",
    }
    assert set(targets) == set(behind)
    for target in targets:
        done = subprocess.run(  # noqa: S603 - our own Makefile
            ["make", "-n", target],  # noqa: S607 - make, wherever it is
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert behind[target] in done.stdout


def _shown(environment: dict[str, str], folder: Path) -> str:
    return subprocess.run(  # noqa: S603 - our own command line
        [folder / "lake-assets", "tables"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
