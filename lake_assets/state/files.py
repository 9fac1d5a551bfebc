"""What the streams of a lake keep beside its tables: lock, heartbeat, checkpoints, journals.

All of it lies in `Settings.state_dir`. Nothing in here knows Spark or decides anything.
"""

import errno
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import LakeError, StreamsLockedError
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime import file_lock
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.file_lock import lock, try_lock
from lake_assets.runtime.processes import boot_id, own_process


def ensure_writable(folder: Path) -> None:
    """Create a folder and make sure that files can be made in it.

    Raises:
        LakeError: it cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A name of its own for each caller: two threads may look at once.
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-"):
            pass
    except OSError as problem:
        raise LakeError(
            str(folder),
            f"cannot be written ({problem.strerror})",
            "Correct its permissions, free some space, or name another folder (--lake, "
            "LAKE_ASSETS_STATE, LAKE_ASSETS_HOME)",
        ) from problem


@contextmanager
def streams_lock(state_dir: Path) -> Iterator[None]:
    """Hold the one lock on a lake's streams; the kernel frees it however the holder dies.

    Raises:
        LakeError: the folder cannot be written.
        StreamsLockedError: another process holds it.
    """
    ensure_writable(state_dir)
    path = _streams_lock_file(state_dir)
    # A look at the lock holds it for a moment, so one attempt is not enough.
    with try_lock(path, within_s=1.0) as is_ours:
        if not is_ours:
            raise StreamsLockedError(str(path), path.read_text().strip() or "unknown")
        path.write_text(f"pid {os.getpid()}")
        yield


def is_locked(state_dir: Path) -> bool:
    """Whether some live process holds the lock on a lake's streams."""
    return file_lock.is_locked(_streams_lock_file(state_dir))


def _streams_lock_file(state_dir: Path) -> Path:
    return state_dir / "streams.lock"


def maintenance_turn(feed: str) -> str:
    """What at most one process of a lake does at a time with a feed: maintaining its tables."""
    return f"maintenance-{feed}"


@contextmanager
def turn(state_dir: Path, task: str) -> Iterator[None]:
    """Wait until no other process is at `task` on this lake, and keep the others waiting.

    Raises:
        LakeError: the folder cannot be written.
    """
    ensure_writable(state_dir)
    with lock(state_dir / f"{task}.lock"):
        yield


@contextmanager
def turn_if_free(state_dir: Path, task: str, *, within_s: float = 0.0) -> Iterator[bool]:
    """As `turn`, without waiting for long: tells whether no other process is at `task`."""
    ensure_writable(state_dir)
    with try_lock(state_dir / f"{task}.lock", within_s=within_s) as is_free:
        yield is_free


_HEARTBEAT = TypeAdapter(Heartbeat)

_BEGAN_AT = time.monotonic()
"""When this process began, as near as matters: this module is loaded within a second or two."""


def own_heartbeat(
    owner: str,
    *,
    progressed_at: float,
    waiting_for: str | None,
    refreshing: Mapping[str, float] | None = None,
    metrics: str | None = None,
    stopped: Mapping[str, str] | None = None,
) -> Heartbeat:
    """This process's heartbeat, now; its times are `time.monotonic()`'s."""
    return Heartbeat(
        process=own_process(),
        owner=owner,
        began_at=_BEGAN_AT,
        at=time.monotonic(),
        progressed_at=progressed_at,
        waiting_for=waiting_for,
        refreshing=refreshing or {},
        metrics=metrics,
        stopped=stopped or {},
    )


def write_heartbeat(state_dir: Path, beat: Heartbeat) -> None:
    """Put a heartbeat in the place of the last one, in one step for readers.

    On a full disk it is written over the last one, which takes no space: a stream that waits for
    space lives, and whoever supervises it must see that.

    Raises:
        OSError: it cannot be written.
    """
    path, text = state_dir / "heartbeat.json", _HEARTBEAT.dump_json(beat)
    try:
        replace_text(path, text.decode())
    except OSError as problem:
        if problem.errno != errno.ENOSPC or not path.exists():
            raise
        with path.open("r+b") as file:
            file.write(text.ljust(path.stat().st_size))


def read_heartbeat(state_dir: Path) -> Heartbeat | None:
    """The last heartbeat, or None if there never was one or it cannot be read."""
    try:
        return _HEARTBEAT.validate_json((state_dir / "heartbeat.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def current_heartbeat(state_dir: Path) -> Heartbeat | None:
    """As `read_heartbeat`; None for one from another machine, container or boot.

    Its times and its pid mean nothing here.
    """
    beat = read_heartbeat(state_dir)
    return beat if beat and beat.process.boot == boot_id() else None
