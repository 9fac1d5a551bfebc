"""Our own programs in a process of their own: what starts and stops Spark itself runs so."""

import subprocess
import sys
from collections.abc import Sequence


def run_program(
    code: str, arguments: Sequence[str], *, through: Sequence[str] = (), timeout_s: float = 240
) -> str:
    """Run Python code to its end; what it said. Its complaints go to the test's standard error.

    Args:
        code: the program.
        arguments: what it finds in `sys.argv`.
        through: a command that runs it, such as one that changes its environment.
        timeout_s: seconds after which it is killed and the test fails; below a test's own limit.
    """
    command = [*through, sys.executable, "-c", code, *arguments]
    done = subprocess.run(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True, timeout=timeout_s, check=True
    )
    return done.stdout
