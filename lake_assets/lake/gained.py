"""What a table gained between two of its versions, by the commits of its Delta log alone.

Opens neither snapshots nor data files: some tens of microseconds a commit.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lake_assets.lake.change import DataFile
from lake_assets.lake.put import commit_file


@dataclass(frozen=True, kw_only=True, slots=True)
class Gained:
    """The files whose rows came to a table."""

    files: tuple[DataFile, ...] = ()
    """Each still lies in the table's folder."""

    obstacle: str = ""
    """In words, why `files` do not tell all that happened; empty if they do."""

    @property
    def rows(self) -> int:
        """Rows in the files, as the log counts them."""
        return sum(file.rows for file in self.files)


def gained_between(folder: Path, after: int, upto: int) -> Gained:
    """The files added in the versions above `after`, up to `upto`.

    Commits that only rearrange rows (`dataChange` is false, as in a compaction) add nothing. A file
    that such a commit replaced is taken as it was, if vacuum has left it.

    Args:
        folder: of the table, unpartitioned.
        after: the version whose rows are known already.
        upto: the last version to look at.
    """
    added: dict[str, DataFile] = {}
    rearranged: set[str] = set()
    for version in range(after + 1, upto + 1):
        try:
            actions = list(_actions(folder, version))
        except FileNotFoundError:
            return Gained(obstacle=f"silver's log has no version {version} any more")
        for kind, action in actions:
            path = unquote(action["path"])
            if kind == "remove" and action["dataChange"]:
                return Gained(obstacle=f"rows left silver or changed in its version {version}")
            if kind == "remove":
                rearranged.add(path)
            elif action["dataChange"]:
                added[path] = _file(path, action)
    if any(not (folder / path).exists() for path in rearranged & added.keys()):
        return Gained(obstacle="vacuum deleted files that silver gained and compacted since")
    return Gained(files=tuple(added.values()))


def _actions(folder: Path, version: int) -> Iterator[tuple[str, Any]]:
    for line in commit_file(folder, version).read_text().splitlines():
        if line.startswith(('{"add"', '{"remove"')):
            yield from json.loads(line).items()


def _file(path: str, action: dict[str, Any]) -> DataFile:
    stats = action.get("stats") or "{}"
    rows = json.loads(stats).get("numRecords") or 0
    return DataFile(path=path, size=action["size"], rows=rows, stats=stats)
