"""The thread that writes a process's heartbeat, so that no other work of the process delays it.

What a heartbeat says, and where it lies, is in `state`; who judges it, in `supervision`.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from lake_assets.state.disk_errors import disk_trouble
from lake_assets.state.files import own_heartbeat, write_heartbeat


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a process has come, as its heartbeat tells it."""

    progressed_at: float
    """When it last got on, a `time.monotonic()`."""

    waiting_for: str | None = None
    """What it waits for, in words, if it does."""

    refreshing: Mapping[str, float] = field(default_factory=dict)
    """By gold view that it refreshes now, since when."""

    metrics: str | None = None
    """Address of its metrics, if they are served."""
    stopped: Mapping[str, str] = field(default_factory=dict)
    """By feed that stands still while others go on, why, in words."""
    stopped_by: Mapping[str, str] = field(default_factory=dict)
    """By feed whose stream somebody stopped, and that stands still, who, in words."""


class HeartbeatThread:
    """Writes a heartbeat at once and then every so often, while its block runs.

    The first is written by the caller's thread: whoever holds the lock and may not write is told so
    before anything starts. Others that cannot be written (the disk is full) are tried again,
    and `failure` has the reason until one is written.
    """

    def __init__(
        self, state_dir: Path, owner: str, ask: Callable[[], Progress], *, every_s: float
    ) -> None:
        """Prepare the thread; nothing is written yet.

        Args:
            state_dir: where the heartbeat lies.
            owner: who runs the process, as `Heartbeat.owner`.
            ask: tells the progress; called in the thread, so it must be quick and not raise.
            every_s: seconds between two heartbeats.
        """
        self._state_dir = state_dir
        self._owner = owner
        self._ask = ask
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self.failure: OSError | None = None
        """Why the last heartbeat could not be written; None if it was."""

    def __enter__(self) -> Self:
        """Write the first heartbeat and start the thread.

        Raises:
            OSError: it cannot be written, and not because the disk is full: that may pass.
        """
        try:
            self._beat()
        except OSError as problem:
            if disk_trouble(problem) is None:
                raise
            self.failure = problem
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the thread; the last heartbeat stays."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            try:
                self._beat()
            except OSError as problem:
                self.failure = problem
            else:
                self.failure = None

    def _beat(self) -> None:
        progress = self._ask()
        beat = own_heartbeat(
            self._owner,
            progressed_at=progress.progressed_at,
            waiting_for=progress.waiting_for,
            refreshing=progress.refreshing,
            metrics=progress.metrics,
            stopped=progress.stopped,
        )
        write_heartbeat(self._state_dir, replace(beat, stopped_by=progress.stopped_by))
