"""What the broker acknowledged, as the producer notes it: a line an event, in a file of its own.

The producer appends and brings lines to the disk; others read as far as lines are whole.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True, slots=True)
class Acked:
    """An event that the broker has said it has."""

    at: float
    """When that was heard; `time.time`."""

    topic: str
    partition: int
    offset: int
    id: str
    game: str
    """Where it belongs; of what cannot be decoded, empty."""

    gamer: str
    """Whose it is; of what cannot be decoded, empty."""

    @property
    def place(self) -> tuple[int, int]:
        """Where it is in its topic."""
        return self.partition, self.offset


def append(file: IO[str], events: Iterable[Acked]) -> None:
    """Note events so that a power cut leaves them."""
    file.writelines(json.dumps(astuple(event)) + "\n" for event in events)
    file.flush()
    os.fsync(file.fileno())


class Reading:
    """A journal that grows, read on and on."""

    def __init__(self, path: Path) -> None:
        """Begin at its beginning."""
        self._path, self._at = path, 0

    def more(self) -> list[Acked]:
        """What came since the last call."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole, end, _ = file.read().rpartition(b"\n")
        self._at += len(whole) + len(end)
        return [*_parsed(whole.splitlines())]


def _parsed(lines: Iterable[bytes]) -> Iterator[Acked]:
    for line in lines:
        yield Acked(*json.loads(line))
