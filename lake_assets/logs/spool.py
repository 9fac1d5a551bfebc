"""Entries on their way into the log tables, kept in files, so that a kill loses none.

An entry is written as it comes, and lies there until a commit has it. What was written is safe from
the death of the process; for that of the machine it would have to wait for the disk, which a batch
shall not.
"""

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from lake_assets.delta.commit import Batch
from lake_assets.logs.entries import Entry


class Spool:
    """The files of one process, and those that one before it left. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Look for what an earlier process left; nothing is changed yet."""
        self._folder = folder
        self._lock = Lock()
        self._held = sorted(folder.glob("*.jsonl"), key=_number)
        self._next = _number(self._held[-1]) + 1 if self._held else 0

    def add(self, entry: Entry) -> None:
        """Keep an entry.

        Raises:
            OSError: the disk does not take it.
        """
        text = json.dumps(asdict(entry))
        with self._lock:
            path = self._path(self._next)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(f"{text}\n")

    def take(self) -> list[Entry]:
        """All entries that are kept, oldest first; they stay kept until `forget`."""
        with self._lock:
            path = self._path(self._next)
            if path.exists():
                self._held.append(path)
                self._next += 1
            paths = list(self._held)
        return [entry for path in paths for entry in _read(path)]

    def forget(self) -> None:
        """Let go of what `take` gave last."""
        with self._lock:
            for path in self._held:
                path.unlink(missing_ok=True)
            self._held = []

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.jsonl"


def _number(path: Path) -> int:
    return int(path.stem)


def _read(path: Path) -> list[Entry]:
    """What can be read: a kill may have cut the last line, a power cut may have damaged others."""
    entries = []
    for line in path.read_text(errors="replace").splitlines():
        with suppress(ValueError, KeyError, TypeError):
            entries.append(_entry(line))
    return entries


def _entry(line: str) -> Entry:
    entry = json.loads(line)
    mark = entry["mark"]
    return Entry(mark=Batch(**mark) if mark else None, rows=entry["rows"])
