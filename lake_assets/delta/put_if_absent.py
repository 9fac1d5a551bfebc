"""Commits in a Delta log: where they lie, and putting one there only if its place is free."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4


def commit_file(folder: Path, version: int) -> Path:
    """The file of a version's commit in the log of the table in `folder`."""
    return folder / "_delta_log" / f"{version:020}.json"


def text_of(actions: Iterable[Mapping[str, Any]]) -> str:
    """A commit's actions as its file has them: a line of JSON each."""
    return "".join(f"{json.dumps(action)}\n" for action in actions)


def put_if_absent(target: Path, text: str) -> bool:
    """Make `target` a file with this text; False if it is there already, and nothing happens.

    Nobody ever sees a part of it. A hard link fails where its name is taken, which is the
    put-if-absent that deltalake's store for local disks makes, too.

    Raises:
        OSError: the folder cannot be written, or is not there.
    """
    # Cheap, and most conflicts are seen here; the link below is what makes sure.
    if target.exists():
        return False
    staged = target.with_name(f"_commit_{uuid4()}.json.tmp")
    try:
        staged.write_text(text)
        os.link(staged, target)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            staged.unlink()
    return True
