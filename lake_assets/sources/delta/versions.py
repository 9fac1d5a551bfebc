"""What a version of a table appended or changed, by its commit's actions; opens nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from lake_assets.delta.restores import is_restore
from lake_assets.errors import SourceError

Actions = Sequence[tuple[str, Any]]
"""Kinds of a commit's actions, and what they say."""


CHANGE = "_change_type"
"""What a change of a row is, in Delta's change data feed."""

INSERT, DELETE = "insert", "delete"
"""What rows are that no file of changes tells of: those of a file that came, or went."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileOrigin:
    """Where a file of the index came from: kept as text in its `counted_as`."""

    table: str
    """Delta's id of the table."""

    version: int
    """That added it, or at which the table was read as a whole."""

    partition: Mapping[str, Any]
    """Values of partition columns, as a row's JSON has them."""

    change: str = ""
    """What its rows are, `INSERT` or `DELETE`, where changes are read; empty where they are not,
    and of a file that tells it of each of its rows."""

    @property
    def text(self) -> str:
        """As JSON."""
        told = {"table": self.table, "version": self.version, "partition": dict(self.partition)}
        if self.change:
            told["change"] = self.change
        return json.dumps(told, ensure_ascii=False)

    @property
    def further(self) -> Mapping[str, Any]:
        """What each row has beside the columns of its file."""
        return {**self.partition, CHANGE: self.change} if self.change else self.partition

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Of `text`; None of what another kind of source wrote."""
        try:
            told = json.loads(text)
            return cls(
                table=told["table"],
                version=told["version"],
                partition=told["partition"],
                change=told.get("change", ""),
            )
        except (AttributeError, ValueError, KeyError, TypeError):
            return None


def appended(
    title: str, version: int, actions: Actions, *, skips_changes: bool
) -> list[Mapping[str, Any]]:
    """The `add` actions whose rows came to a table with a version.

    Commits that only rearrange rows, as OPTIMIZE does, append nothing.

    Args:
        title: of the table, for messages.
        version: the version.
        actions: of its commit.
        skips_changes: whether commits that change rows are passed over.

    Raises:
        SourceError: rows were deleted or changed, or those that came are deleted in part.
    """
    changing = _changing(actions)
    is_restored = any(k == "commitInfo" and is_restore(a) for k, a in actions)
    if is_restored or any(kind == "remove" for kind, _ in changing):
        if skips_changes:
            return []
        what = operation_of(actions)
        fact = f"deleted or changed rows in its version {version} ({what}), and appends are read"
        step = "Declare `skip_change_commits: true` to pass over such commits"
        raise SourceError(title, fact, step)
    adds = [action for _, action in changing]
    if any(action.get("deletionVector") for action in adds):
        fact = f"added a file with a deletion vector in its version {version}"
        raise SourceError(title, fact, "Write rows to it without one")
    return adds


def changed(
    title: str, version: int, actions: Actions, *, is_recorded: Callable[[], bool]
) -> list[tuple[Mapping[str, Any], str]]:
    """The actions whose files have the changes that a version made, and what their rows are.

    As the protocol of Delta has it ("Change Data Files"): files of changes if there are some; else
    rows of each file that went were deleted, and those of each that came were inserted. The former
    are first, so that of a row that was replaced the new one comes later.

    Args:
        title: of the table, for messages.
        version: the version.
        actions: of its commit.
        is_recorded: tells whether the table's changes were recorded at this version
            (`delta.enableChangeDataFeed`); asked only if it matters.

    Returns:
        Actions, and `INSERT`, `DELETE` or nothing, as `FileOrigin.change`.

    Raises:
        SourceError: rows changed while nothing was recorded, or are told by deletion vectors alone.
    """
    recorded = [(action, "") for kind, action in actions if kind == "cdc"]
    if recorded:
        return recorded
    changing = _changing(actions)
    removed = [(action, DELETE) for kind, action in changing if kind == "remove"]
    added = [(action, INSERT) for kind, action in changing if kind == "add"]
    if removed and not is_recorded():
        what = operation_of(actions)
        fact = f"changed rows in its version {version} ({what}) and did not record how"
        step = "Set its property delta.enableChangeDataFeed to true; `rebuild bronze` begins anew"
        raise SourceError(title, fact, step)
    if any(action.get("deletionVector") for action, _ in (*removed, *added)):
        what = operation_of(actions)
        fact = f"tells changes in its version {version} ({what}) by deletion vectors alone"
        step = "Set its property delta.enableDeletionVectors to false; `rebuild bronze` begins anew"
        raise SourceError(title, fact, step)
    return [*removed, *added]


def _changing(actions: Actions) -> list[tuple[str, Mapping[str, Any]]]:
    """Files that came or went with rows: not those whose rows were only laid out anew."""
    return [(k, a) for k, a in actions if k in {"add", "remove"} and a.get("dataChange", True)]


def operation_of(actions: Actions) -> str:
    """What a commit calls itself: `DELETE`."""
    return str(_info(actions).get("operation") or "unnamed")


def committed_ms(actions: Actions) -> int | None:
    """When a version was committed by its own word, in milliseconds since 1970."""
    stamp = _info(actions).get("timestamp")
    return stamp if isinstance(stamp, int) else None


def _info(actions: Actions) -> Mapping[str, Any]:
    return next((action for kind, action in actions if kind == "commitInfo"), {})
