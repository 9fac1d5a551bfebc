"""The cache folder: where it is, and how a file in it is replaced in one step."""

import os
import tempfile
from pathlib import Path

import platformdirs

from lake_assets.errors import RuntimeSetupError


def cache_dir(configured: Path | None = None) -> Path:
    """The folder that holds downloads, made if it is missing.

    Raises:
        RuntimeSetupError: the folder cannot be made or written.
    """
    folder = configured or platformdirs.user_cache_path("lake_assets")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise not_writable(folder, problem) from problem
    return folder


def not_writable(folder: Path, problem: OSError) -> RuntimeSetupError:
    """The error of a cache folder that refuses."""
    return RuntimeSetupError(
        f"cache folder {folder}",
        f"cannot be written ({problem.strerror or problem})",
        "Make room or set LAKE_ASSETS_RUNTIME_CACHE to a folder of yours",
    )


def replace_file(target: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a text file so that nobody ever sees half of it.

    Raises:
        RuntimeSetupError: the folder cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w") as file:
            file.write(text)
        staged = Path(name)
        staged.chmod(mode)
        staged.replace(target)
    except OSError as problem:
        raise not_writable(target.parent, problem) from problem
