"""Making backups in a place one at a time, and what one before that was cut off has left there.

A disk has a lock for it. A bucket has none, nor have some file systems: who began last goes on
there, and all others find out before what they made counts.
"""

import errno
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from lake_assets.backup.manifest import Manifest
from lake_assets.backup.place import UNFINISHED, BackupPlace
from lake_assets.errors import LakeError
from lake_assets.runtime.file_lock import try_lock

_LOCK = "_backup.lock"

_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
"""What file systems say that have none, such as a bucket's that is mounted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaceTurn:
    """One backup that is being made."""

    place: BackupPlace
    can_resume: bool
    """Whether files that one before left unfinished can be relied on."""

    run: str = field(default_factory=lambda: uuid4().hex[:12])

    def ensure_alone(self) -> None:
        """Make sure that nobody began another one since.

        Raises:
            LakeError: somebody did.
        """
        if _noted(self.place).partition("\n")[2] != self.run:
            raise LakeError(
                str(self.place),
                "another backup was begun there meanwhile, so that this one does not count",
                "Give each lake, and each copy of a lake elsewhere, a place of its own",
            )

    def end(self, manifest: Manifest) -> None:
        """Make a backup whole: all that it names must be durable; raises as `ensure_alone`."""
        self.ensure_alone()
        self.place.put(manifest)
        try:
            # Who begins later sees it, and leaves what it names.
            self.ensure_alone()
        except LakeError:
            self.place.drop(manifest.number)
            raise


@contextmanager
def place_turn(place: BackupPlace, boot: str) -> Iterator[PlaceTurn]:
    """Be the one who makes a backup in a place while the block runs.

    What was left on a disk cannot be relied on after another start of the machine: it may not have
    reached the disk.

    Args:
        place: which lake's it is has been looked at.
        boot: of this start of the machine.

    Raises:
        LakeError: another one is being made, or the place cannot be written.
    """
    with _lock_of(place) as is_ours:
        if not is_ours:
            fact = "another backup is being made there"
            raise LakeError(str(place), fact, "Wait until it is done, or name another place")
        left = _noted(place).partition("\n")[0]
        is_reliable = bool(left) and (left == boot or not place.store.root.is_local)
        one = PlaceTurn(place=place, can_resume=is_reliable)
        # What was not relied on once is not later, until a backup is whole.
        noted = boot if not left or is_reliable else f"since before {boot}"
        file = place.store.root / UNFINISHED
        with place.store.open_for_writing(file, durable=True) as stream:
            stream.write(f"{noted}\n{one.run}".encode())
        place.delete_strays()
        yield one


def _noted(place: BackupPlace) -> str:
    try:
        return place.store.get(place.store.root / UNFINISHED).decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        return "damaged"


@contextmanager
def _lock_of(place: BackupPlace) -> Iterator[bool]:
    if not place.store.root.is_local:
        yield True
        return
    file = (place.store.root / _LOCK).as_path()
    with ExitStack() as held:
        try:
            # A look at the lock holds it for a moment.
            is_ours = held.enter_context(try_lock(file, within_s=1.0))
        except NotImplementedError:  # what filelock says of a file system without flock
            is_ours = True
        except OSError as problem:
            if problem.errno not in _WITHOUT_LOCKS:
                fact = f"cannot be written ({problem.strerror or problem})"
                raise LakeError(str(file), fact, "Correct its disk or permissions") from problem
            is_ours = True
        yield is_ours
