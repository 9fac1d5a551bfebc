"""Commits in a Delta log: where they lie, and putting one there only if its place is free."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lake_assets.storage.local import put_new_file


def commit_file(folder: Path, version: int) -> Path:
    """The file of a version's commit in the log of the table in `folder`."""
    return folder / "_delta_log" / f"{version:020}.json"


def text_of(actions: Iterable[Mapping[str, Any]]) -> str:
    """A commit's actions as its file has them: a line of JSON each."""
    return "".join(f"{json.dumps(action)}\n" for action in actions)


def put_if_absent(target: Path, text: str) -> bool:
    """Make `target` a file with this text, as `storage.store.Store.put_if_absent` does.

    Raises:
        OSError: the folder cannot be written, or is not there.
    """
    return put_new_file(str(target), text.encode())
