"""A disk of its own for the lake, and what can happen to it: full, read-only, slow.

`mounted` makes one, before the run: a file system in a file, by the kernel's loop driver, or in
memory where there is no loop device. The faults touch no other disk. All of it needs the right to
mount (CAP_SYS_ADMIN), and nothing that a Debian does not have.
"""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from threading import Event, Thread

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from faults import stalls
from faults.fault import Fault
from faults.system import System
from lake_assets.errors import RuntimeSetupError

_IN_MEMORY = "lake-faults"
"""What the table of mounts names as the device of ours in memory."""

_LEFT_BYTES = (0, 64 * 1024, 1024 * 1024)
"""Of a full disk: with some left, small files are written and large ones break off."""

_BLOCK = 4096

_REFILLS_AFTER_S = 0.05
"""A full disk stays full: what is deleted meanwhile goes to somebody else."""

_STALLS_S = (0.02, 0.8)
"""For so long no write comes through; above some seconds it would be an outage, not a slow disk."""

_PAUSES_S = (0.005, 0.05)
"""Between two stalls; a commit is several writes, which should meet several stalls."""

_BUSY_FOR_S = 20.0
"""Processes that end have their files open for a while."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """A file system of its own, that may be filled and frozen."""

    path: Path
    in_memory: bool


@contextmanager
def mounted(path: Path, size_bytes: int) -> Iterator[Disk]:
    """Mount a new file system at `path`, and take it away at the end of the block.

    What wrote there must have ended by then.

    Raises:
        RuntimeSetupError: it cannot be mounted, or is in use at the end; it is unmounted then, and
            goes when those who use it end.
    """
    problem = cannot_mount()
    if problem is not None:
        raise RuntimeSetupError(_thing(path), problem, "Run as root, or leave out its faults")
    path.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        disk = _with_loop(path, size_bytes, stack) if _cannot_loop() is None else None
        if disk is None:
            _run("mount", "-t", "tmpfs", "-o", f"size={size_bytes}", _IN_MEMORY, str(path))
            disk = Disk(path=path, in_memory=True)
        stack.callback(_unmount, path)
        yield disk


@cache
def cannot_mount() -> str | None:
    """Why this process cannot mount a disk, else None; it tries."""
    with tempfile.TemporaryDirectory(prefix="lake-faults-") as place:
        try:
            _run("mount", "-t", "tmpfs", "-o", "size=64k", _IN_MEMORY, place)
        except (OSError, RuntimeSetupError) as problem:
            return f"a disk cannot be mounted ({_reason(problem)})"
        _run("umount", place)
    return None


@cache
def _cannot_loop() -> str | None:
    with tempfile.TemporaryDirectory(prefix="lake-faults-") as place, ExitStack() as stack:
        at = Path(place) / "disk"
        at.mkdir()
        try:
            _with_loop(at, 1024 * 1024, stack)
        except (OSError, RuntimeSetupError) as problem:
            return f"a file cannot be mounted ({_reason(problem)})"
        _run("umount", str(at))
    return None


def _with_loop(path: Path, size_bytes: int, stack: ExitStack) -> Disk:
    image = path.with_name(f"{path.name}.disk")
    stack.callback(image.unlink, missing_ok=True)
    with image.open("wb") as file:
        file.truncate(size_bytes)
    # Without blocks for root alone, which would not be full when others are.
    _run(
        shutil.which("mkfs.ext4", path=f"{os.defpath}:/sbin:/usr/sbin") or "mkfs.ext4",
        "-q",
        "-F",
        "-m",
        "0",
        str(image),
    )
    # By `-o loop` the device goes with the mount, however that ends.
    _run("mount", "-o", "loop", str(image), str(path))
    (path / "lost+found").rmdir()
    return Disk(path=path, in_memory=False)


def _unmount(path: Path) -> None:
    busy = retry_if_exception_type(RuntimeSetupError)
    try:
        for attempt in Retrying(
            retry=busy, wait=wait_fixed(0.2), stop=stop_after_delay(_BUSY_FOR_S), reraise=True
        ):
            with attempt:
                _run("umount", str(path))
    except RuntimeSetupError:
        _run("umount", "--lazy", str(path))
        raise


def _thing(path: Path) -> str:
    return f"disk for faults at {path}"


def _reason(problem: Exception) -> str:
    return problem.fact if isinstance(problem, RuntimeSetupError) else str(problem)


def _run(*command: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own command line
        command, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().partition("\n")[0].rstrip(".")
        raise RuntimeSetupError(" ".join(command), said, "Look what is mounted there")


class _DiskFault(ABC):
    """A fault of the lake's disk; `disk` is None where the lake lies elsewhere."""

    name: str

    def __init__(self, disk: Disk | None) -> None:
        self._disk = disk

    def unavailable(self) -> str | None:
        """Why it cannot be done here."""
        if self._disk is None:
            return cannot_mount() or "the lake has no disk of its own here"
        return self._unavailable_on(self._disk)

    def _unavailable_on(self, disk: Disk) -> str | None:
        del disk
        return None

    def inject(self, system: System, random: Random) -> AbstractContextManager[str]:
        """Let the disk be so until the end of the block."""
        if self._disk is None:
            raise RuntimeSetupError(self.name, "there is no disk", "Ask `unavailable` first")
        return self._on(self._disk, system, random)

    @abstractmethod
    def _on(self, disk: Disk, system: System, random: Random) -> AbstractContextManager[str]:
        """The same, on a disk."""


class FullDisk(_DiskFault):
    """Nothing is left, or little, and what is deleted is taken at once."""

    name = "full disk"

    @contextmanager
    def _on(self, disk: Disk, system: System, random: Random) -> Iterator[str]:
        del system
        left = random.choice(_LEFT_BYTES)
        # Has no name: nobody finds it in the lake, and it goes also if we are killed.
        with tempfile.TemporaryFile(dir=disk.path) as ballast:
            _fill(disk.path, ballast.fileno(), left)
            ended = Event()

            def refill() -> None:
                while not ended.wait(_REFILLS_AFTER_S):
                    _fill(disk.path, ballast.fileno(), left)

            filler = Thread(target=refill, name="full disk")
            filler.start()
            try:
                yield f"fill the lake's disk up to {left // 1024} KiB, and keep it so"
            finally:
                ended.set()
                filler.join()


def _fill(path: Path, ballast: int, left: int) -> None:
    """Let the ballast grow until `left` bytes are free, or less."""
    size = os.fstat(ballast).st_size
    room = os.statvfs(path)
    more = room.f_bavail * room.f_frsize - left
    while more >= _BLOCK:
        try:
            os.posix_fallocate(ballast, size, more)
        except OSError as problem:
            if problem.errno != errno.ENOSPC:
                raise
            # The file system's own notes need blocks, too, and others write meanwhile.
            more = more // 2
        else:
            return


class ReadOnlyDisk(_DiskFault):
    """As a disk whose errors made the system remount it: nothing can be opened for writing.

    The same file system is mounted once more over itself, since one in use cannot be made
    read-only; who has a file open for writing keeps it.
    """

    name = "read-only disk"

    @contextmanager
    def _on(self, disk: Disk, system: System, random: Random) -> Iterator[str]:
        del system, random
        path = str(disk.path)
        _run("mount", "--bind", path, path)
        try:
            _run("mount", "-o", "remount,bind,ro", path)
            yield "make the lake's disk read-only"
        finally:
            # Who began meanwhile may hold on to this mount, so it must not stay read-only.
            _run("mount", "-o", "remount,bind,rw", path)
            _run("umount", "--lazy", path)


class SlowDisk(_DiskFault):
    """Each write waits, for a while that changes; reads go on."""

    name = "slow disk"

    def _unavailable_on(self, disk: Disk) -> str | None:
        if disk.in_memory:
            return f"the lake's disk is in memory, which cannot be frozen: {_cannot_loop()}"
        return None

    @contextmanager
    def _on(self, disk: Disk, system: System, random: Random) -> Iterator[str]:
        numbers = (random.randrange(2**32), *_STALLS_S, *_PAUSES_S)
        command = [sys.executable, stalls.__file__, str(disk.path), *map(str, numbers)]
        with subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # neither Ctrl-C nor an end of our group may leave it frozen
        ) as stalling:
            try:
                low, high = _STALLS_S
                yield f"let the lake's disk take no write for {low} to {high} s, again and again"
            finally:
                count, _ = stalling.communicate()
        if stalling.returncode != 0:
            fact = f"ended with {stalling.returncode}"
            raise RuntimeSetupError("stalls of the lake's disk", fact, "Look at what it said")
        system.log(f"the lake's disk stalled {count.strip()} times")


def disk_faults(disk: Disk | None) -> list[Fault]:
    """Each kind."""
    return [FullDisk(disk), ReadOnlyDisk(disk), SlowDisk(disk)]
