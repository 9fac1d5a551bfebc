"""The lease of a lake in a bucket: taking it, renewing it, and knowing whether it is still held.

All processes that share a state folder hold it together: whichever finds it due renews it, and
notes that in the folder for the others. Who may have it is decided in `lease_rules`.
"""

import logging
import math
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import LakeError, LeaseHeldError, LeaseLostError, StoreAwayError
from lake_assets.model.lake_uri import GCS, LakeUri
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.file_lock import lock, shared_lock, try_lock
from lake_assets.runtime.processes import boot_id
from lake_assets.runtime.steady_clock import steady_s
from lake_assets.state.files import ensure_writable
from lake_assets.state.lease_rules import Lease, Wait, Watched, decide
from lake_assets.storage.conditional import ConditionalFile
from lake_assets.storage.conditions import ensure_conditions

_LOG = logging.getLogger(__name__)

FILE = "_lease.json"
"""Its name, right in the lake."""

LASTS_S = 30.0
"""Seconds that a holder may be silent. Whoever waits for a dead one waits as long; a store that is
away for longer stops the holder, too."""

_RENEWALS = 6
"""In that time."""

_NOTE, _LOCK, _MARK = "lease.json", "lease.lock", "lease-mark"
"""In the state folder."""

_BRISK = {"retry_timeout": "5", "timeout": "5s", "connect_timeout": "5s"}
_TRIES, _TRIES_OF_GOOGLE = "2", "12"
"""For what is asked of the lease, by who has a lock and asks again; on Google see `open_bucket`."""

_PATIENCE_S, _AGAIN_S = 60.0, 1.0
"""Seconds that a commit waits for a store that is away, as for its own requests (`open_bucket`)."""

_LOOK_EVERY_S = 1.0
"""Seconds between two looks of one who waits."""

_LEASE = TypeAdapter(Lease)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Noted:
    """What processes of a state folder tell each other."""

    boot: str
    """Whose clock `at` is by."""

    at: float
    """When the lease was surely held."""

    token: int


_NOTED = TypeAdapter(_Noted)


@dataclass(frozen=True, kw_only=True)
class LakeLease:
    """A lake's lease as one state folder has it; a `storage.fenced.Guard`."""

    root: LakeUri
    """Of the lake."""

    options: Mapping[str, str] = field(repr=False)
    """Of its bucket, as deltalake takes them."""

    state_dir: Path
    token: int = 0
    """Of the lease that was taken; 0 of one that is to be."""

    lasts_s: float = LASTS_S

    @contextmanager
    def held(self, stopped: Callable[[float], bool]) -> Iterator["LakeLease"]:
        """Take the lease, keep it renewed while the block runs, and give it back after the last.

        Args:
            stopped: waits so many seconds, or less if it is told to stop, and says whether it was.

        Yields:
            This lease, with its token.

        Raises:
            LeaseHeldError: another machine or state folder has it, and lives.
            LakeError: the bucket's store cannot keep a second one off; or it or the state folder
                cannot be read or written.
        """
        ensure_writable(self.state_dir)
        users, ended = self.state_dir / "lease-users.lock", threading.Event()
        with ExitStack() as after, shared_lock(users):
            taken = self._taken(stopped)
            after.callback(taken._leave, users)  # noqa: SLF001 - of the same class
            keeper = threading.Thread(target=_keep, args=[taken, ended], name="lease", daemon=True)
            keeper.start()
            try:
                yield taken
            finally:
                ended.set()
                keeper.join()

    def ensure(self) -> None:
        """As `Guard`: by what a process of the state folder noted, or by asking."""
        if self.age_s() > self.lasts_s / 2:
            self.verify()

    def verify(self) -> None:
        """As `Guard`; a store that is away is asked again for a minute."""
        until = steady_s() + _PATIENCE_S
        while True:
            try:
                is_ours = self.renew()
            except StoreAwayError:
                if steady_s() > until:
                    raise
                time.sleep(_AGAIN_S)
                continue
            if not is_ours:
                raise self.lost()
            return

    def note_fenced(self) -> None:
        """Note that no earlier holder can commit any more; raises as `verify`."""
        if not self.renew(is_fenced=True):
            raise self.lost()

    def age_s(self) -> float:
        """Seconds since it was surely held, as far as the state folder tells."""
        try:
            noted = _NOTED.validate_json((self.state_dir / _NOTE).read_bytes())
        except (OSError, ValidationError):
            return math.inf
        is_ours = (noted.boot, noted.token) == (boot_id(), self.token)
        return steady_s() - noted.at if is_ours else math.inf

    def is_fenced(self) -> bool:
        """Whether no earlier holder can commit any more; raises as `verify` does."""
        found = _read(self._file())
        return found is not None and self._is_ours(found) and found.is_fenced

    def elsewhere(self) -> Lease | None:
        """What another one's lease says, dead or alive; None if it is ours, or nobody's.

        Raises:
            LakeError: the bucket cannot be read.
        """
        found = _read(self._file())
        if found is None or found.is_released:
            return None
        is_here = self.state_dir.exists() and found.holder == self._own().holder
        return None if is_here else found

    def renew(self, *, is_fenced: bool = False) -> bool:
        """Renew it, and note that earlier holders are fenced; False if it is another's by now.

        Raises:
            LakeError: the bucket or the state folder cannot be read or written.
        """
        with lock(self.state_dir / _LOCK):
            file, at = self._file(), steady_s()
            found = _read(file)
            if found is None or found.is_released or not self._is_ours(found):
                return False
            is_fenced = is_fenced or found.is_fenced
            return self._write(file, replace(found, beat=found.beat + 1, is_fenced=is_fenced), at)

    def give_back(self) -> None:
        """Let others have it at once; raises as `renew`."""
        with lock(self.state_dir / _LOCK):
            # Whoever in this process is not at its end asks the store then, and is refused.
            (self.state_dir / _NOTE).unlink(missing_ok=True)
            file = self._file()
            found = _read(file)
            if found is not None and self._is_ours(found):
                file.write(_LEASE.dump_json(replace(found, is_released=True)))

    def _leave(self, users: Path) -> None:
        """Give it back if nobody else of the state folder has it, however the block ended."""
        with try_lock(users) as is_last:
            if not is_last:
                return
            try:
                self.give_back()
            except (LakeError, OSError) as problem:
                _LOG.warning("the lease was not given back: %s", problem)

    def lost(self) -> LeaseLostError:
        """The error of one that is another's by now; raises as `renew`."""
        found = _read(self._file())
        return LeaseLostError(str(self.root), "nobody" if found is None else found.place)

    def _is_ours(self, found: Lease) -> bool:
        # Tokens begin anew where the file was deleted under its holder.
        return (found.token, found.holder) == (self.token, self._own().holder)

    def is_held_here(self) -> bool:
        """Whether a process of the state folder has it; raises as `elsewhere`."""
        found = _read(self._file())
        return found is not None and found.holder == self._own().holder and not found.is_released

    def _file(self) -> ConditionalFile:
        tries = _TRIES_OF_GOOGLE if self.root.scheme == GCS else _TRIES
        return ConditionalFile(self.root / FILE, {**self.options, **_BRISK, "max_retries": tries})

    def _own(self) -> Lease:
        status = self.state_dir.stat()
        # A copy of the folder, on this machine or another, is another holder; so is one that was
        # made anew, which may have the inode of the last.
        holder = f"{boot_id()}/{status.st_dev}/{status.st_ino}/{self._mark()}"
        place = f"{platform.node()}, state folder {self.state_dir}"
        return Lease(token=0, holder=holder, place=place, lasts_s=self.lasts_s)

    def _mark(self) -> str:
        """What the state folder is told by from one that was there before it."""
        file = self.state_dir / _MARK
        with suppress(FileNotFoundError):
            return file.read_text()
        with lock(self.state_dir / "lease-mark.lock"):
            if not file.exists():
                replace_text(file, secrets.token_hex(8))
        return file.read_text()

    def _taken(self, stopped: Callable[[float], bool]) -> "LakeLease":
        watched: Watched | None = None
        if not self.is_held_here():
            ensure_conditions(self.root, self.options)
        while True:
            found = self._try(watched)
            if isinstance(found, int):
                return replace(self, token=found)
            has_moved = watched is not None and found.watched.lease != watched.lease
            watched = found.watched
            if has_moved or stopped(min(_LOOK_EVERY_S, found.seconds)):
                raise LeaseHeldError(str(self.root), watched.lease.place)

    def _try(self, watched: Watched | None) -> "int | Wait":
        """The token that was got, or how long to wait."""
        with lock(self.state_dir / _LOCK):
            while True:
                file, at = self._file(), steady_s()
                decision = decide(_read(file), self._own(), watched, at)
                if isinstance(decision, Wait):
                    return decision
                if self._write(file, decision.lease, at):
                    return decision.lease.token

    def _write(self, file: ConditionalFile, lease: Lease, at: float) -> bool:
        if not file.write(_LEASE.dump_json(lease)):
            return False
        noted = _Noted(boot=boot_id(), at=at, token=lease.token)
        replace_text(self.state_dir / _NOTE, _NOTED.dump_json(noted).decode())
        return True


def _keep(lease: LakeLease, ended: threading.Event) -> None:
    every_s = lease.lasts_s / _RENEWALS
    while not ended.wait(every_s / 2):
        if lease.age_s() < every_s:
            continue
        try:
            if not lease.renew():
                _LOG.error("%s", lease.lost())
                return
        except (LakeError, OSError) as problem:
            _LOG.warning("the lease was not renewed: %s", problem)


def _read(file: ConditionalFile) -> Lease | None:
    """What the file says.

    Raises:
        LakeError: it is none, or the bucket cannot be read.
    """
    content = file.read()
    if content is None:
        return None
    try:
        return _LEASE.validate_json(content)
    except ValidationError:
        fact = "is no lease: its content is damaged"
        step = "Delete it once nothing writes the lake, on any machine"
        raise LakeError(str(file), fact, step) from None
