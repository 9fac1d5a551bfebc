"""What all commands share: printing, and turning errors into one line and exit code 1."""

from rich.console import Console

stdout = Console()
"""Results."""

stderr = Console(stderr=True)
"""Progress and errors, so that standard output can be piped."""
