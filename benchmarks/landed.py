"""What a run left in its folder, whoever wrote it: from the Delta logs, without an engine."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ground import Ground, check


@dataclass(frozen=True, slots=True)
class Landed:
    """Data files of some tables at their newest versions."""

    rows: int
    files: int
    size_bytes: int


def landed(table: Path) -> Landed:
    """Sum up a table from all commits of its log.

    Spark Declarative Pipelines' tables have features that deltalake does not read, and a Spark
    query a table would take longer than what is measured; every writer puts row counts there.
    """
    present: dict[str, tuple[int, int]] = {}
    for commit in commits_of(table):
        for action in _actions(commit):
            if "add" in action:
                add = action["add"]
                present[add["path"]] = _rows(add), add["size"]
            elif "remove" in action:
                present.pop(action["remove"]["path"], None)
    return Landed(
        rows=sum(rows for rows, _ in present.values()),
        files=len(present),
        size_bytes=sum(size for _, size in present.values()),
    )


def commits_of(table: Path) -> list[Path]:
    """The files of a table's log, one a commit, oldest first; none if there is no table yet."""
    return sorted((table / "_delta_log").glob("*.json"))


def added_by(commit: Path) -> dict[str, int]:
    """Rows by path of the data files that a commit brought; those that it only moved are none."""
    return {add["path"]: _rows(add) for add in adds_of(commit) if add["dataChange"]}


def adds_of(commit: Path) -> list[dict[str, Any]]:
    """The `add` actions of a commit, as the Delta protocol has them."""
    return [action["add"] for action in _actions(commit) if "add" in action]


def info_of(commit: Path) -> Mapping[str, Any]:
    """What a commit says of itself, beside its actions."""
    return next((action["commitInfo"] for action in _actions(commit) if "commitInfo" in action), {})


def _actions(commit: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, commit.read_text().splitlines())


def _rows(add: dict[str, Any]) -> int:
    return int(json.loads(add["stats"])["numRecords"])


@dataclass(frozen=True, slots=True)
class Written:
    """What came to tables in a time."""

    commits: int
    files: int
    size_bytes: int


def written_between(folder: Path, began: float, ended: float) -> Written:
    """Sum up the commits to all tables below a folder, from one time to another (Unix)."""
    commits = [
        commit
        for log in folder.rglob("_delta_log")
        for commit in commits_of(log.parent)
        if began <= commit.stat().st_mtime < ended
    ]
    adds = [add for commit in commits for add in adds_of(commit) if add["dataChange"]]
    return Written(
        commits=len(commits), files=len(adds), size_bytes=sum(add["size"] for add in adds)
    )


def files_below(folder: Path) -> int:
    """Data files of all tables below a folder."""
    return sum(landed(log.parent).files for log in folder.rglob("_delta_log"))


def check_tables(measure: str, ground: Ground, tables: Mapping[str, Path]) -> None:
    """Make sure that each game's table has each of its events.

    Raises:
        StreamError: one does not.
    """
    for game, table in tables.items():
        totals = landed(table)
        check(f"{measure} {game}", rows=totals.rows, expected=ground.by_game[game])


def tables_of(games: Iterable[str], folder: Path, name: str = "silver_{}") -> dict[str, Path]:
    """Where a peer has its tables, by game."""
    return {game: folder / name.format(game) for game in games}
