"""The wheel as a user has it: built from the tree, in an environment of its own."""

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this tree into a folder."""
    subprocess.run(  # noqa: S603 - our own build backend
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(folder: Path) -> Path:
    """An environment with the wheel, and nothing of the tree; its folder of commands.

    What the wheel depends on is this environment's: 1.3 GB that need no second copy.
    """
    wheel, place = build_wheel(folder / "dist"), folder / "venv"
    uv = [sys.executable, "-m", "uv"]
    for command in (
        [*uv, "venv", "--quiet", "--python", sys.executable, place],
        [*uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", place, wheel],
    ):
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - uv
    (site,) = place.glob("lib/python*/site-packages")
    # Behind the environment's own, so that the wheel's package comes first.
    (site / "dependencies.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
    return place / "bin"
