"""The command line in a child process, as a shell runs it."""

import subprocess
import sys

from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings

COMMAND = [sys.executable, "-c", "from lake_assets.cli.main import run; run()"]


def lake_assets(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `lake-assets` to its end with these settings."""
    return subprocess.run(  # noqa: S603 - our own command line
        [*COMMAND, *arguments],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
