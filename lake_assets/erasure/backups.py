"""Erasures and the backups of a lake: each place learns of them, and older backups make way.

A backup that was made before rows were erased has them. It obeys when it is restored, and it holds
them still; so an erasure is done when no such backup is left in any place that the lake knows of.
"""

from collections.abc import Callable, Iterator, Sequence

from lake_assets.backup.create import back_up
from lake_assets.backup.kept_erasures import keep_in, older_backups
from lake_assets.backup.made_here import ensure_made_here
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.scheduled import place_at
from lake_assets.errors import LakeAssetsError
from lake_assets.model.erasures import Erasure
from lake_assets.model.lake_uri import is_address
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_hold import backup_turn
from lake_assets.state.backup_notes import places_of
from lake_assets.state.lake_id import lake_id

_AGAIN = "`lake-assets erase --again`"


def settle_backups(
    settings: Settings,
    erasures: Sequence[Erasure],
    *,
    is_pruning: bool,
    tell: Callable[[str], None],
) -> list[str]:
    """Have all places that a lake knows of learn of its erasures, and drop older backups if asked.

    Args:
        settings: where the lake is.
        erasures: those that are not done; their rows may be in backups.
        is_pruning: whether older backups go, once there is a new one.
        tell: told of each backup.

    Returns:
        In words, what is not done yet, and what to do.

    Raises:
        LakeError: the lake or the state folder cannot be read.
    """
    left: list[str] = []
    for name in places_of(settings.state_dir):
        try:
            place = _reached(settings, name)
            if place is None:
                continue
            if is_pruning and _is_to_prune(place, settings, erasures):
                tell(f"a new backup in {name}, in place of all that are there")
                back_up(settings, place, Progress(), keep=1)
            left += _left(place, settings, erasures)
        except (LakeAssetsError, OSError) as problem:
            left.append(
                f"backups in {name} do not know of it ({problem}): run {_AGAIN} when they can be "
                f"reached; if they are gone for good, `lake-assets backup {name} --forget`"
            )
    return left


def _reached(settings: Settings, name: str) -> BackupPlace | None:
    """A place of this lake, which knows its erasures now; None if it is another one's."""
    place = place_at(settings, name)
    whose = place.lake_id()
    if whose is None and not is_address(name):
        # Where a disk is not mounted there may be an empty folder.
        raise FileNotFoundError(2, "there are no backups", name)
    if whose != lake_id(settings):
        return None  # emptied, or of the lake that this one was copied from
    ensure_made_here(place, settings.state_dir)
    with backup_turn(settings.state_dir):
        keep_in(place, settings)
    return place


def _is_to_prune(place: BackupPlace, settings: Settings, erasures: Sequence[Erasure]) -> bool:
    """Whether a place has older backups, and a new one would have nothing of the rows."""
    if not all(erasure.is_ended for erasure in erasures):
        return False
    return any(True for erasure in erasures for _ in older_backups(place, settings, erasure))


def _left(place: BackupPlace, settings: Settings, erasures: Sequence[Erasure]) -> Iterator[str]:
    with backup_turn(settings.state_dir):  # none is under way that was begun before
        older = {
            (one.number, one.made_at)
            for erasure in erasures
            for one in older_backups(place, settings, erasure)
        }
    if not older:
        return
    told = ", ".join(f"{number} of {made_at}" for number, made_at in sorted(older))
    yield (
        f"backups in {place} are from before it and have the rows still ({told}): run "
        "`lake-assets erase --again --prune-backups` once nothing else is left, which makes a new "
        "one and deletes them; a restore of them obeys it"
    )
