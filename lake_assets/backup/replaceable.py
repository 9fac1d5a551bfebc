"""Whether what is in a lake's folder may give way to a backup. Reads only."""

from pathlib import Path

import pyarrow as pa
from deltalake.exceptions import DeltaError

from lake_assets.backup.lake_tables import tables_in
from lake_assets.backup.manifest import Manifest
from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.store import Store


def ensure_one_disk(lake_dir: Path, lake: Store) -> None:
    """Make sure that tables can change places by renames.

    Raises:
        LakeError: some lie on another disk than the lake.
    """
    disk = lake_dir.stat().st_dev
    layers = [lake_dir / layer for layer in Layer if (lake_dir / layer).exists()]
    # A link to a table's folder is renamed itself, wherever it leads to.
    tables = [lake_dir / table.relative for table in tables_in(lake)]
    for folder in (*layers, *(table for table in tables if not table.is_symlink())):
        if folder.stat().st_dev != disk or (folder in tables and folder.is_mount()):
            fact = f"lies on another disk than {lake_dir}, and tables change places by renames"
            raise LakeError(str(folder), fact, "Restore into an empty folder (--lake)")


def ensure_replaceable(lake: Store, manifest: Manifest, *, force: bool) -> None:
    """Make sure that nothing is lost that nobody said may be.

    Raises:
        LakeError: there are rows, or files that are called as a table of the backup.
    """
    if force:
        return
    tables = tables_in(lake)
    having = [table.relative for table in tables if _has_rows(lake, table)]
    # What is called as a table of the backup, and is none.
    others = {summary.table for summary in manifest.tables} - {t.relative for t in tables}
    having += sorted(name for name in others if _has_files(lake, name))
    if having:
        raise LakeError(
            str(lake.root),
            f"has rows or files already ({having[0]} among others)",
            "Name an empty folder (--lake), or say that they are to be replaced (--force)",
        )


def _has_files(lake: Store, name: str) -> bool:
    if not lake.root.is_local:
        place = lake.root / name
        is_file = lake.stat(place) is not None
        return is_file or any(lake.list_from(place)) or bool(lake.folders(place))
    folder = lake.root.as_path() / name
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def _has_rows(lake: Store, table: TableRef) -> bool:
    try:
        return bool(active_files(log_of(lake, table).open()))
    except (DeltaError, LakeError, OSError, pa.ArrowException):
        return True  # nobody can tell
