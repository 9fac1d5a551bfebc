"""Whether a place's newest backup is of this copy of its lake, or of another one with the same id.

A lake that is restored on another machine keeps its id. Two copies that take turns in one place
would delete each other's backups, and a restore would bring back whichever came last.
"""

from pathlib import Path

from lake_assets.backup.manifest import Manifest
from lake_assets.backup.place import BackupPlace
from lake_assets.errors import LakeError
from lake_assets.state.backup_notes import is_last_of_a_place
from lake_assets.state.backup_runs import own_runs


def is_made_here(state_dir: Path, manifest: Manifest) -> bool:
    """Whether the lake of a state folder made a backup, as far as the folder tells."""
    if manifest.run in (own_runs(state_dir) or ()):
        return True
    # Releases before noted of each place its newest alone, and without its run.
    return is_last_of_a_place(state_dir, manifest.number, manifest.made_at_s)


def ensure_made_here(place: BackupPlace, state_dir: Path) -> None:
    """Make sure that no other copy of the lake made the newest backup of a place; reads only.

    Args:
        place: of backups of this lake, or without any.
        state_dir: of this copy.

    Raises:
        LakeError: another one did.
    """
    newest = place.last()
    if newest is None or is_made_here(state_dir, newest):
        return
    fact = f"its newest backup {newest.number} (of {newest.made_at}) was made by another copy of "
    fact += "this lake, or before this one's state folder was lost or put back to an older one"
    step = "Name a place of its own; or, if that copy is gone for good, run once `lake-assets "
    raise LakeError(str(place), fact, f"{step}backup {place} --take-over`")
