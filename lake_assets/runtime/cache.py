"""The cache folder: where it is."""

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
