"""Reading a file of values: one a line, in UTF-8."""

import sys
from pathlib import Path

from lake_assets.errors import ErasureError

STDIN = Path("-")
"""Stands for standard input."""

_MARK = "\ufeff"
"""With which some editors begin a file."""


def values_in(file: Path) -> tuple[str, ...]:
    """The values in a file, each once; lines that are empty are passed over.

    Raises:
        ErasureError: it cannot be read, or has none.
    """
    try:
        text = sys.stdin.read() if file == STDIN else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        fact, step = f"cannot be read ({problem})", "Name a text file in UTF-8, a value a line"
        raise ErasureError(str(file), fact, step) from problem
    # Reading has made each end of a line one; other characters that part lines may be a value's.
    lines = text.removeprefix(_MARK).split("\n")
    values = tuple(dict.fromkeys(line for line in lines if line.strip()))
    if not values:
        raise ErasureError(str(file), "has no value", "Write one a line")
    return values
