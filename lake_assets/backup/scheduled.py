"""Backups into the place of the settings, as they are made on a schedule."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lake_assets.backup.create import back_up
from lake_assets.backup.manifest import Manifest
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.errors import LakeAssetsError, SettingsError
from lake_assets.model.lake_uri import LakeUri, is_address
from lake_assets.runtime.low_priority import at_low_priority
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_notes import note_failed
from lake_assets.storage.open_store import store_of


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduledBackup:
    """One that was made."""

    manifest: Manifest
    progress: Progress
    seconds: float


def place_at(settings: Settings, text: str) -> BackupPlace:
    """The place that a user named: a folder, or the address of a bucket and a path in it.

    Raises:
        LakeError: it is none.
        SettingsError: an option of the bucket cannot be used.
    """
    root = LakeUri.parse(text) if is_address(text) else LakeUri.local(Path(text).absolute())
    return BackupPlace(store_of(root, settings.backup.secrets))


def target_of(settings: Settings) -> BackupPlace:
    """The place of the settings; raises as `place_at`, and SettingsError if there is none."""
    if settings.backup.target is None:
        step = "Name a place of backups, or set it"
        raise SettingsError("LAKE_ASSETS_BACKUP_TARGET", "is not set", step)
    return place_at(settings, settings.backup.target)


def back_up_on_schedule(settings: Settings) -> ScheduledBackup:
    """Back the lake up beside whatever runs, which goes first; a failure is noted.

    Raises:
        SettingsError: there is no target, or it cannot be used.
        LakeError: as `back_up`.
    """
    began, progress, place = time.monotonic(), Progress(), target_of(settings)
    try:
        manifest = at_low_priority(
            lambda: back_up(settings, place, progress, keep=settings.backup.keep)
        )
    except LakeAssetsError as problem:
        with suppress(LakeAssetsError, OSError):  # a full disk, perhaps: that is told already
            note_failed(settings.state_dir, str(place), time.time(), str(problem))
        raise
    return ScheduledBackup(manifest=manifest, progress=progress, seconds=time.monotonic() - began)
