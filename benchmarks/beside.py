"""A program of the benchmark as a process beside it, which says in a file where it listens."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lake_assets.errors import StreamError


@contextmanager
def beside(module: str, folder: Path, *arguments: object) -> Iterator[int]:
    """Its port until the end of the block.

    Args:
        module: is run as `python -m MODULE FILE ARGUMENTS`, and writes its port into the file.
        folder: has the file.
        arguments: further ones.

    Raises:
        StreamError: it ends before it listens.
    """
    port = folder / f"{module}.port"
    port.unlink(missing_ok=True)
    process = subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, "-m", module, str(port), *map(str, arguments)]
    )
    try:
        while not port.exists():
            if process.poll() is not None:
                raise StreamError(module, "does not start", "Look at what it printed")
            time.sleep(0.05)
        yield int(port.read_text())
    finally:
        process.kill()
        process.wait()
