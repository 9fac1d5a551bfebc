"""Reading a file of values: one a line, in UTF-8."""

import sys
from pathlib import Path

from lake_assets.errors import ErasureError

STDIN = Path("-")
"""Stands for standard input."""


def values_in(file: Path) -> tuple[str, ...]:
    """The values in a file, each once; lines that are empty are passed over.

    Raises:
        ErasureError: it cannot be read, or has none.
    """
    try:
        text = sys.stdin.read() if file == STDIN else file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        fact, step = f"cannot be read ({problem})", "Name a text file in UTF-8, a value a line"
        raise ErasureError(str(file), fact, step) from problem
    values = tuple(dict.fromkeys(line for line in text.splitlines() if line.strip()))
    if not values:
        raise ErasureError(str(file), "has no value", "Write one a line")
    return values
