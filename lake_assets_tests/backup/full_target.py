"""Backs a lake up to where there is too little space, and again when there is more.

`python -m lake_assets_tests.backup.full_target`, settings as JSON on standard input, in a mount
namespace of its own: the target becomes a small file system in memory. Tells what was seen as JSON.
"""

import json
import subprocess
import sys
from pathlib import Path

from lake_assets.backup.scheduled import back_up_on_schedule, target_of
from lake_assets.backup.verify import verify
from lake_assets.errors import LakeError
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_notes import note_of


def mount(target: Path, options: str) -> None:
    """Make the target a file system, or change the one that it is."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", target], check=True)  # noqa: S603, S607


def main() -> None:
    """Run to the end."""
    settings = Settings.model_validate_json(sys.stdin.read())
    place = target_of(settings)
    target = Path(str(place))
    target.mkdir()
    mount(target, "size=28k")
    problem = ""
    try:
        back_up_on_schedule(settings)
    except LakeError as failure:
        problem = str(failure)
    noted = note_of(settings.state_dir, str(place)).why
    whole = place.numbers()
    mount(target, "remount,size=10m")
    done = back_up_on_schedule(settings)
    wrong = verify(place, done.manifest, read=True)
    facts = {"problem": problem, "noted": noted, "whole": whole, "wrong": wrong}
    sys.stdout.write(json.dumps({**facts, "number": done.manifest.number}))


if __name__ == "__main__":
    main()
