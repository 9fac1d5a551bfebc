"""The jars that no Python wheel brings, in the user's cache folder, each checked by its SHA-256.

Safe between processes: one downloads, the others wait; a file appears in one step or not at all.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime import ivy
from lake_assets.runtime.archive import is_intact, unpack
from lake_assets.runtime.cache import cache_dir, not_writable
from lake_assets.runtime.file_lock import lock
from lake_assets.runtime.java import Java
from lake_assets.runtime.progress import OnProgress
from lake_assets.settings.schema import RuntimeSettings

Group = Literal["spark", "s3", "azure", "google", "kafka", "registry"]
"""What files are for; a configuration in `ivy.xml`."""

GROUPS: tuple[Group, ...] = get_args(Group)
"""All that there are; what a lake needs of them, `setup` says."""

Retrieve = Callable[..., Path]
"""`ivy.retrieve`, or a stand-in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """A file to fetch and how to know it."""

    group: Group
    name: str
    sha256: str
    size: int

    def fits(self, path: Path) -> bool:
        """Whether `path` is this file, byte for byte."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


def artifacts() -> tuple[Artifact, ...]:
    """Every file that `ivy.xml` names, from `checksums.txt`."""
    lines = (ivy.ARTIFACTS / "checksums.txt").read_text().splitlines()
    listed = []
    for sha256, size, path in (line.split() for line in lines if not line.startswith("#")):
        group, name = path.split("/")
        match = next(known for known in GROUPS if known == group)
        listed.append(Artifact(group=match, name=name, sha256=sha256, size=int(size)))
    return tuple(listed)


def ensure_groups(
    groups: Sequence[Group],
    java: Java,
    runtime: RuntimeSettings | None = None,
    *,
    on_progress: OnProgress | None = None,
    retrieve: Retrieve = ivy.retrieve,
) -> dict[Group, tuple[Path, ...]]:
    """Have the files of `groups`, fetching those that are missing or damaged.

    Returns:
        The jars to put on a class path; for `registry`, the one jar to start.

    Raises:
        RuntimeSetupError: a file cannot be had, or is not what it should be.
    """
    runtime = runtime or RuntimeSettings()
    cache = cache_dir(runtime.cache)
    if not all(_is_here(cache, group) for group in groups):
        try:
            with lock(cache / "jars.lock"):
                missing = tuple(group for group in groups if not _is_here(cache, group))
                if missing:
                    _fetch(missing, cache, java, runtime, on_progress, retrieve)
        except OSError as problem:
            raise not_writable(cache, problem) from problem
    return {group: _paths(cache, group) for group in groups}


def is_here(group: Group, runtime: RuntimeSettings) -> bool:
    """Whether a group is in the cache, whole and undamaged."""
    return _is_here(cache_dir(runtime.cache), group)


def _of(group: Group) -> tuple[Artifact, ...]:
    return tuple(artifact for artifact in artifacts() if artifact.group == group)


def _registry_dir(cache: Path) -> Path:
    # Named after the archive's checksum: a new pin never mixes with the files of an old one.
    (archive,) = _of("registry")
    return cache / "jars" / "registry" / archive.sha256[:16]


def _is_here(cache: Path, group: Group) -> bool:
    if group == "registry":
        return is_intact(_registry_dir(cache))
    return all(artifact.fits(cache / "jars" / group / artifact.name) for artifact in _of(group))


def _paths(cache: Path, group: Group) -> tuple[Path, ...]:
    if group == "registry":
        return tuple(_registry_dir(cache).glob("*-runner.jar"))
    return tuple(cache / "jars" / group / artifact.name for artifact in _of(group))


def _fetch(
    groups: tuple[Group, ...],
    cache: Path,
    java: Java,
    runtime: RuntimeSettings,
    on_progress: OnProgress | None,
    retrieve: Retrieve,
) -> None:
    for left_behind in cache.glob(".staging-*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    wanted = [artifact for group in groups for artifact in _of(group)]
    with tempfile.TemporaryDirectory(dir=cache, prefix=".staging-") as staging:
        retrieved = retrieve(
            groups,
            java,
            Path(staging),
            settings=runtime.ivy_settings,
            log=cache / "ivy.log",
            on_landed=_towards(sum(artifact.size for artifact in wanted), on_progress),
        )
        for artifact in wanted:
            _check(artifact, retrieved / artifact.group / artifact.name)
        for artifact in wanted:
            _install(artifact, retrieved / artifact.group / artifact.name, cache)


def _towards(total: int, on_progress: OnProgress | None) -> Callable[[int], None] | None:
    if on_progress is None:
        return None
    return lambda landed: on_progress(min(landed, total), total)


def _check(artifact: Artifact, path: Path) -> None:
    if not artifact.fits(path):
        fact = "its SHA-256 is not the one in checksums.txt" if path.exists() else "did not arrive"
        raise RuntimeSetupError(
            f"{artifact.group}/{artifact.name}",
            fact,
            "It was not installed. Check the repository or mirror it came from, then try again",
        )


def _install(artifact: Artifact, path: Path, cache: Path) -> None:
    if artifact.group == "registry":
        unpack(path, _registry_dir(cache))
        return
    target = cache / "jars" / artifact.group / artifact.name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
