"""Where anything of a lake may lie that this product wrote, and the files there."""

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lake_assets.backup.scheduled import place_at
from lake_assets.erasure.scanned import Kind, Unread
from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import Layer
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_notes import noted_places
from lake_assets.state.lake_record import RECORD
from lake_assets.storage.open_store import lake_of, store_of
from lake_assets.storage.store import Store

_AT_ONCE = 64 << 20
"""Bytes of an object below which it is got whole: one request in place of several."""

_ARCHIVE = "package.tar.gz"
"""Of the Python that executors get: it has programs, and no rows."""

_TEMPORARY = ("spark-*", "blockmgr-*", "lake_assets*", "lake-assets-*")
"""Names of folders that Spark and we make among temporary files."""

_LAYERS = {layer.value for layer in Layer}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedFile:
    """A file to look at."""

    kind: Kind
    address: str
    name: str
    """Below its place."""

    open: Callable[[], AbstractContextManager[pa.NativeFile]]
    """Raises FileNotFoundError if it is gone."""

    path: Path | None = None
    """On a disk of this machine."""

    @property
    def is_log(self) -> bool:
        """Whether it is one of a table's log."""
        return "_delta_log" in self.name.split("/")[:-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A folder of this machine, or one in a bucket, with all that is below."""

    kind: Kind
    folder: Path | Store
    apart: Collection[Path] = ()
    """Folders in it that are places of their own, or nobody's of the lake."""

    def __str__(self) -> str:
        """For messages."""
        return str(self.folder if isinstance(self.folder, Path) else self.folder.root)

    def files(self) -> Iterator[PlacedFile]:
        """All files, hidden and unfinished ones too; none of a folder that is not there.

        Raises:
            LakeError: the bucket cannot be read.
            OSError: a folder cannot be read.
        """
        if isinstance(self.folder, Path):
            yield from self._on_disk(self.folder)
        else:
            yield from self._in_bucket(self.folder, self.folder.root, "")

    def _on_disk(self, root: Path) -> Iterator[PlacedFile]:
        apart = {folder.absolute() for folder in self.apart}
        seen: set[tuple[int, int]] = set()
        # Links are followed: a table's folder may be on another disk.
        for folder, folders, names in os.walk(root, onerror=_refuse, followlinks=True):
            here = Path(folder)
            if (place := _inode(here)) in seen:
                folders.clear()
                continue
            seen.add(place)
            folders[:] = sorted(name for name in folders if (here / name).absolute() not in apart)
            for name in sorted(names):
                path = here / name
                if not path.is_file():
                    continue
                if self.kind is Kind.SPILL and name == _ARCHIVE:
                    continue
                below = path.relative_to(root).as_posix()
                yield PlacedFile(
                    kind=_kind(self.kind, below),
                    address=str(path),
                    name=below,
                    open=_opening(path),
                    path=path,
                )

    def _in_bucket(self, store: Store, folder: LakeUri, below: str) -> Iterator[PlacedFile]:
        for name in store.list_from(folder):
            yield PlacedFile(
                kind=_kind(self.kind, f"{below}{name}"),
                address=str(folder / name),
                name=f"{below}{name}",
                open=_getting(store, folder / name),
            )
        for name in store.folders(folder):
            yield from self._in_bucket(store, folder / name, f"{below}{name}/")


def _inode(folder: Path) -> tuple[int, int]:
    try:
        stat = folder.stat()
    except FileNotFoundError:  # deleted meanwhile
        return 0, 0
    return stat.st_dev, stat.st_ino


def _refuse(problem: OSError) -> None:
    if not isinstance(problem, FileNotFoundError):  # deleted meanwhile, or never there
        raise problem


def _kind(kind: Kind, name: str) -> Kind:
    """Of a file of a lake, what it is."""
    if kind is not Kind.OTHER:
        return kind
    layer, *rest = name.split("/")
    if layer not in _LAYERS:
        return Kind.OTHER
    return Kind.LOG if "_delta_log" in rest[:-1] else Kind.DATA


def _opening(path: Path) -> Callable[[], AbstractContextManager[pa.NativeFile]]:
    # Not mapped: a file that another process makes shorter would end this one.
    return lambda: pa.OSFile(str(path))


def _getting(store: Store, file: LakeUri) -> Callable[[], AbstractContextManager[pa.NativeFile]]:
    @contextmanager
    def opened() -> Iterator[pa.NativeFile]:
        stat = store.stat(file)
        if stat is None:
            raise FileNotFoundError(str(file))
        if stat.size <= _AT_ONCE:
            yield pa.BufferReader(store.get(file))
            return
        with store.open_for_reading(file) as source:
            yield pa.PythonFile(source, "r")

    return opened


def places_of(
    settings: Settings, dagster_home: Path | None = None, temporary: Path | None = None
) -> tuple[list[Place], list[Unread]]:
    """All places, and what is known of and cannot be looked at.

    Args:
        settings: where the lake is.
        dagster_home: of the Dagster that runs it, if that is known.
        temporary: folder of temporary files; by default this user's.
    """
    state, home = settings.state_dir.absolute(), settings.home.absolute()
    dagster = dagster_home or settings.dagster_home
    apart = [state, dagster, settings.services_dir]
    lake = lake_of(settings)
    root: Path | Store = lake
    if lake.root.is_local:
        root = lake.root.as_path()
        apart.append(root)
    places = [
        Place(kind=Kind.OTHER, folder=root, apart=[state]),
        Place(kind=Kind.STATE, folder=state),
        Place(kind=Kind.STATE, folder=home, apart=apart),
        Place(kind=Kind.DAGSTER, folder=dagster.absolute()),
    ]
    if settings.state_root is not None:
        kept = store_of(settings.state_root, settings.storage.secrets)
        places.append(Place(kind=Kind.STATE, folder=kept))
    places += _temporary(settings, temporary or Path(tempfile.gettempdir()))
    backups, unread = _backups(settings)
    return [*places, *backups], [*unread, *_elsewhere(dagster)]


def _temporary(settings: Settings, folder: Path) -> Iterator[Place]:
    set_ = settings.spark.conf.get("spark.local.dir")
    own = [] if set_ is None else [Path(one) for one in set_.get_secret_value().split(",")]
    homes = {settings.home.absolute(), settings.state_dir.absolute()}
    for each in (folder, *own):
        for name in _TEMPORARY:
            for found in sorted(each.glob(name)):
                inside = found.absolute() in homes or bool(homes & {*_parents(found)})
                inside = inside or (found / RECORD).exists()  # a lake of its own
                if found.is_dir() and not inside and os.access(found, os.R_OK):
                    yield Place(kind=Kind.SPILL, folder=found, apart=[*homes])


def _parents(found: Path) -> Sequence[Path]:
    return found.absolute().parents


def _backups(settings: Settings) -> tuple[list[Place], list[Unread]]:
    named = [*noted_places(settings.state_dir)]
    if settings.backup.target is not None:
        named.append(settings.backup.target)
    places: dict[str, Place] = {}
    unread = []
    for name in dict.fromkeys(named):
        try:
            store = place_at(settings, name).store
        except LakeAssetsError as problem:
            unread.append(Unread(f"backups in {name}", first_line(problem)))
            continue
        folder = store.root.as_path() if store.root.is_local else store
        places.setdefault(str(store.root), Place(kind=Kind.BACKUP, folder=folder))
    return list(places.values()), unread


def _elsewhere(dagster: Path) -> Iterator[Unread]:
    with suppress(OSError):
        if "postgres" in (dagster / "dagster.yaml").read_text():
            yield Unread(
                "Dagster's storage in PostgreSQL",
                "is another service's: what runs log goes with `lake-assets` purges of old runs",
            )
