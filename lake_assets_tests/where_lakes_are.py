"""Where lakes of long tests are, on the disk or in a bucket as `--lake` says, and their copies."""

import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import obstore
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import TableRef
from lake_assets.settings.schema import Settings, StorageSettings
from lake_assets.storage.open_bucket import open_bucket
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.storage.fixtures import LakeServer

BUCKET = "lakes"
"""That all lakes of a run are in: Spark is told of one."""

Located = Callable[[Settings], Settings]


def located_in(server: LakeServer | None) -> Located:
    """Has a lake of some settings be where it is to be, with its state, and no other lake."""

    def located(settings: Settings) -> Settings:
        if server is None:
            return settings
        storage = StorageSettings(options=server.options)
        lake = f"{server.address(BUCKET)}/{uuid4().hex}"
        places = {"lake": Path(lake), "state": Path(f"{lake}/_state")}
        return settings.model_copy(update={**places, "storage": storage})

    return located


def handle_of(settings: Settings, table: TableRef) -> DeltaTable | None:
    """A table as it is now, read by deltalake; None if there is none."""
    return open_table(lake_of(settings), table)


def is_there(settings: Settings) -> bool:
    """Whether a lake has anything."""
    root = settings.lake_root
    return root.as_path().exists() if root.is_local else bool(_names(settings, root))


def keep(settings: Settings, folder: LakeUri, copy: Path) -> None:
    """Copy what a lake's folder has."""
    if folder.is_local:
        shutil.copytree(folder.as_path(), copy)
        return
    bucket = open_bucket(folder, settings.storage.secrets)
    for name in _names(settings, folder):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        content = bytes(obstore.get(bucket, f"{folder.path}/{name}").bytes())
        (copy / name).write_bytes(content)


def put_back(settings: Settings, copy: Path, folder: LakeUri) -> None:
    """Have a lake's folder be what was kept."""
    if folder.is_local:
        shutil.rmtree(folder.as_path(), ignore_errors=True)
        shutil.copytree(copy, folder.as_path())
        return
    lake_of(settings).delete_folder(folder)
    bucket = open_bucket(folder, settings.storage.secrets)
    for file in filter(Path.is_file, copy.rglob("*")):
        key = f"{folder.path}/{file.relative_to(copy).as_posix()}"
        obstore.put(bucket, key, file.read_bytes())


def lose_state(settings: Settings) -> None:
    """Delete a lake's state folder for good."""
    shutil.rmtree(settings.state_dir)


def _names(settings: Settings, folder: LakeUri) -> list[str]:
    bucket = open_bucket(folder, settings.storage.secrets)
    listed = obstore.list(bucket, folder.path)
    return [one["path"][len(folder.path) + 1 :] for page in listed for one in page]
