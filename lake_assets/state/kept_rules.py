"""Which files of a state folder are kept in a lake's bucket, and what two copies come to. Pure.

A folder and the bucket's copy both go on from what they had in common when they were last compared;
that is noted in the folder by digests, the base. Reading and writing them is `kept_state`'s.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

KEPT_FILES = ("alerts.json", "backups.json", "backup_runs.json")
KEPT_FOLDERS = ("failing", "feed-runs", "sinks", "stopped-streams")
"""What nothing else tells: which alerts were sent, backups made and wanted, runs wanted and done,
expectations failing, streams stopped, and which rows a sink's batch that was cut off had. All other
state is of the processes that run, or is made again from the lake's commits."""

OF_TABLES = (
    "journals",
    "batches",
    "refreshing",
    "unused_files",
    "checkpoints",
    "checked_logs.json",
)
"""What a state folder has besides of the tables of its lake: of other ones it must not be used."""

Files = Mapping[str, str]
"""Texts by their paths in the folder, with `/`."""

Digests = Mapping[str, str]
"""Of such texts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """What is to be changed for both copies to be the same."""

    here: Mapping[str, str | None]
    """To be written in the folder, or, if None, deleted."""

    there: Files
    """All that the bucket is to have."""


def is_kept(name: str) -> bool:
    """Whether a file of a state folder is kept, by its path in the folder."""
    folder, _, rest = name.rpartition("/")
    if rest.startswith("."):
        return False  # being written
    return name in KEPT_FILES or (folder in KEPT_FOLDERS and rest.endswith(".json"))


def merged(base: Digests | None, here: Files, there: Files, *, is_writer: bool) -> Merged:
    """Take from either copy what changed in it since they were the same.

    Args:
        base: what both had then; None if they never were, and the bucket's copy counts.
        here: what the folder has.
        there: what the bucket has.
        is_writer: whether the folder is of the lake's writer, whose own counts where both changed.
    """
    known = base or {}
    to_write: dict[str, str | None] = {}
    result: dict[str, str] = {}
    for name in sorted({*known, *here, *there}):
        ours, theirs = here.get(name), there.get(name)
        has_theirs_changed = digest(theirs) != known.get(name)
        has_ours_changed = digest(ours) != known.get(name)
        is_ours = has_ours_changed and (is_writer or not has_theirs_changed)
        chosen = ours if is_ours and base is not None else theirs
        if chosen is not None:
            result[name] = chosen
        if chosen != ours:
            to_write[name] = chosen
    return Merged(here=to_write, there=result)


def digests(files: Files) -> dict[str, str]:
    """Of texts by their names."""
    return {name: digest(text) or "" for name, text in files.items()}


def digest(text: str | None) -> str | None:
    """What a text is known by; None of one that is not there."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
