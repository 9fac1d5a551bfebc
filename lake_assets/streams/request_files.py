"""Requests to the process of a lake's streams as files in its state folder, and their answers.

They work wherever the lake's locks do, and a process that dies leaves nothing that would have to be
closed. What is asked and answered is `streams.refresh_requests`' and `streams.run_requests`'.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from uuid import uuid4

from pydantic import ValidationError

from lake_assets.errors import first_line
from lake_assets.model.processes import ProcessId
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.processes import boot_id, is_alive

_LOG = logging.getLogger(__name__)

LOOK_EVERY_S = 0.2
"""Seconds between two looks for requests, or for an answer; each lists a small folder."""

_TOUCH_EVERY_S = 5.0
"""Seconds between two signs that whoever asks still waits."""

_SILENT_AFTER_S = 60.0
"""Seconds without such a sign after which whoever asks from another machine counts as gone."""

_ASKED, _TAKEN, _ANSWERED, _EVENTS = ".json", ".taken", ".answer", ".events"
"""Endings of a request's file, of one that is worked on, of its answer, and of what is told before
that."""


class FromProcess(Protocol):
    """Any request."""

    @property
    def process(self) -> ProcessId:
        """Who asks."""
        ...


_Request = TypeVar("_Request", bound=FromProcess)


class OpenRequest:
    """A request as the process sees it that made it."""

    def __init__(self, asked: Path) -> None:
        """See the request that is asked in this file."""
        self._asked = asked
        self._read_to = 0
        self._touched_at = time.monotonic()

    def is_open(self) -> bool:
        """Whether somebody may still answer it: it is there, taken or not."""
        return self._asked.exists() or self._asked.with_suffix(_TAKEN).exists()

    def is_withdrawn(self) -> bool:
        """Withdraw it, if nobody has taken it; whether it is."""
        with suppress(FileNotFoundError):
            self._asked.unlink()
            return True
        return False

    def answer(self) -> str | None:
        """The answer, once there is one; to ask for it is a sign that somebody still waits."""
        if time.monotonic() - self._touched_at > _TOUCH_EVERY_S:
            self._touched_at = time.monotonic()
            for file in (self._asked, self._asked.with_suffix(_TAKEN)):
                with suppress(OSError):  # it has the other name, or the disk is full
                    os.utime(file)
        with suppress(FileNotFoundError):
            return self._asked.with_suffix(_ANSWERED).read_text()
        return None

    def told(self) -> list[str]:
        """The lines that were told since the last call; one that is half there comes whole."""
        with suppress(FileNotFoundError), self._asked.with_suffix(_EVENTS).open("rb") as file:
            file.seek(self._read_to)
            whole, end, _ = file.read().rpartition(b"\n")
            self._read_to += len(whole) + len(end)
            return [line.decode() for line in whole.split(b"\n")] if whole else []
        return []


@contextmanager
def open_request(folder: Path, text: str) -> Iterator[OpenRequest]:
    """Ask something; the request is withdrawn at the end of the block, answered or not.

    Raises:
        OSError: the folder cannot be written.
    """
    asked = folder / f"{uuid4().hex}{_ASKED}"
    replace_text(asked, text)
    try:
        yield OpenRequest(asked)
    finally:
        for ending in (_ASKED, _TAKEN, _ANSWERED, _EVENTS):
            asked.with_suffix(ending).unlink(missing_ok=True)


class RequestFolder(Generic[_Request]):
    """The requests of a folder as the process sees them that answers; used by one thread."""

    def __init__(self, folder: Path, read: Callable[[bytes], _Request], what: str) -> None:
        """See a folder, which need not be there.

        Args:
            folder: has the requests' files.
            read: makes a request of what is in one; raises `ValidationError` if it is none.
            what: is asked for, in words, for the log.
        """
        self._folder = folder
        self._read = read
        self._what = what
        self._has_cleared = False
        self._signs = Signs()
        self._strange: set[str] = set()

    def take(self) -> Iterator[tuple[Path, _Request]]:
        """The new requests of living processes, and where each lies from now on.

        At first what was left of requests is deleted that a process before this one took.
        """
        self._clear()
        for asked in sorted(self._folder.glob(f"*{_ASKED}")):
            taken = asked.with_suffix(_TAKEN)
            try:
                request = self._read(asked.read_bytes())
                asked.rename(taken)
            except FileNotFoundError:  # withdrawn
                continue
            except (OSError, ValidationError) as problem:  # not of ours, or not for us to read
                if asked.name not in self._strange:
                    words = first_line(problem)
                    _LOG.warning("%s is no request of %s: %s", asked, self._what, words)
                self._strange.add(asked.name)
                continue
            if self._signs.is_of_living(request, taken):
                yield taken, request
            else:
                taken.unlink(missing_ok=True)

    def is_wanted(self, request: _Request, taken: Path) -> bool:
        """Whether somebody still waits for the answer to a request that was taken."""
        return taken.exists() and self._signs.is_of_living(request, taken)

    def _clear(self) -> None:
        if not self._has_cleared:
            for ending in (_TAKEN, _ANSWERED, _EVENTS):
                for left in self._folder.glob(f"*{ending}"):
                    left.unlink(missing_ok=True)
            self._has_cleared = True


class Signs:
    """Tells whether those live who ask: by their pid, or, on other machines, by their signs.

    These are the times of their files, which are compared with each other and with no clock.
    """

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._seen: dict[Path, tuple[int, float]] = {}

    def is_of_living(self, request: FromProcess, file: Path) -> bool:
        """Whether the process lives that asks by this file."""
        if request.process.boot == boot_id():
            return request.process.pid > 0 and is_alive(request.process)
        try:
            sign = file.stat().st_mtime_ns
        except FileNotFoundError:
            return False  # withdrawn
        now = time.monotonic()
        last = self._seen.get(file)
        if last is None or last[0] != sign:
            last = self._seen[file] = (sign, now)
        return now - last[1] <= _SILENT_AFTER_S


def answer(taken: Path, text: str) -> None:
    """Answer a request that was taken, if somebody still waits for it.

    Raises:
        OSError: the answer cannot be written.
    """
    if taken.exists():
        replace_text(taken.with_suffix(_ANSWERED), text)


def tell(taken: Path, line: str) -> None:
    """Tell something before the answer, if somebody still waits for it; safe between threads.

    Raises:
        OSError: it cannot be written.
    """
    if taken.exists():
        with taken.with_suffix(_EVENTS).open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())  # in one call: lines of two threads do not mix
