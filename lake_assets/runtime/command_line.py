"""Our own command line as a child process starts it, whatever folder `lake-assets` is in."""

import sys


def command_line(*arguments: str) -> list[str]:
    """The words that run `lake-assets` with these arguments, by this process's Python."""
    return [sys.executable, "-m", "lake_assets", *arguments]
