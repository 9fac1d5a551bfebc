"""The README's commands, run as they stand, in their order."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lake_assets.settings.load import child_environment

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def _commands(section: str) -> list[str]:
    text = (ROOT / "README.md").read_text()
    body = text.split(f"## {section}\n", 1)[1]
    block = re.search(r"```sh\n(.*?)```", body, re.DOTALL)
    assert block
    return [line.split("  #")[0].strip() for line in block[1].splitlines()]


def test_the_commands_work_together_as_the_readme_has_them(settings):
    """Any of them failing fails; the last brings the services down again."""
    environment = child_environment(settings)
    commands = _commands("The commands")
    assert len(commands) > 5
    folder = Path(sys.executable).parent
    for command in commands:
        words = command.replace(".venv/bin", str(folder)).split()
        done = subprocess.run(  # noqa: S603 - the README's own commands
            words, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "gold_poker_player_agg" in _shown(environment, folder)


def test_every_make_command_leads_to_what_the_readme_says():
    """Each is run for real by CI or by the tests of the command behind it."""
    readme = (ROOT / "README.md").read_text()
    targets = dict.fromkeys(re.findall(r"^make ([a-z-]+)", readme, re.MULTILINE))
    behind = {
        "demo": "lake-assets demo",
        "demo-once": "lake-assets demo --once",
        "check": "ruff check",
        "test": "coverage run -m pytest",
        "bench": "lake-assets bench",
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
