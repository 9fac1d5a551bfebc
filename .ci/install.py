"""Run uv, and show how far it is: its bars in a terminal, a few lines elsewhere.

What it would list besides, a line for each of 140 packages, is left out. `make setup` runs this.
"""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

_COLOUR = rb"(?:\x1b\[[0-9;]*m)*"

_LISTED = re.compile(rb"\s*" + _COLOUR + rb"\s*[-+~]" + _COLOUR + rb"\s")
"""How a line of the list begins: ` + name==1.0`."""

_UNDECIDED = re.compile(rb"\s*(?:\x1b(?:\[[0-9;]*m?)?)*\s*[-+~]?(?:\x1b(?:\[[0-9;]*m?)?)*")
"""What may become one of its lines."""


def shown(parts: Iterator[bytes]) -> Iterator[bytes]:
    """What is printed of an output that comes in parts."""
    held = b""
    for part in parts:
        *lines, held = (held + part).split(b"\n")
        yield from (line + b"\n" for line in lines if not _LISTED.match(line))
        # A bar is drawn without an end of line.
        if held and not _LISTED.match(held) and not _UNDECIDED.fullmatch(held):
            yield held
            held = b""
    if held and not _LISTED.match(held):
        yield held


def run(command: list[str], write: Callable[[bytes], object], *, is_terminal: bool) -> int:
    """Run a command to its end; returns its exit code."""
    ours, its = pty.openpty() if is_terminal else os.pipe()
    process = subprocess.Popen(command, stdout=its, stderr=its)  # noqa: S603 - the Makefile's
    os.close(its)
    for piece in shown(_parts(ours)):
        write(piece)
    return process.wait()


def _parts(source: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(source, 65536)
        except OSError:  # which Linux says where the other end of a terminal is closed
            return
        if not part:
            return
        yield part


def _write(piece: bytes) -> None:
    sys.stderr.buffer.write(piece)
    sys.stderr.buffer.flush()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], _write, is_terminal=sys.stderr.isatty()))
