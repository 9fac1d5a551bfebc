"""Our own programs in a process of their own: what starts and stops Spark itself runs so."""

import subprocess
import sys
from collections.abc import Sequence


def run_program(code: str, arguments: Sequence[str], *, timeout_s: float = 300) -> str:
    """Run Python code to its end; what it said. Its complaints go to the test's standard error."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True, timeout=timeout_s, check=True
    )
    return done.stdout
