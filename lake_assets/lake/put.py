"""Putting a commit into a Delta log: in one step, and only if its place is free."""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


def put(target: Path, text: str) -> bool:
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
