"""Sending OpenLineage's events, beside what they tell of: nothing waits for it or fails by it.

Events wait in a queue of bounded length; a thread makes them, which reads tables, and sends them.
Whatever goes wrong is logged once, until an event gets through.
"""

import logging
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from lake_assets.errors import first_line
from lake_assets.settings.load import openlineage_environment, openlineage_variables_kept

_LOG = logging.getLogger(__name__)

MOST_WAITING = 1000
"""Things to tell of that wait at most; more are lost, which is logged."""

_LOGIN = re.compile(r"://[^/\s]*@")
"""What an address may have of a login; the transport's errors name it whole."""

LAST_WORDS_S = 5.0
"""Seconds that the end of a process waits for what is left."""

Make = Callable[[], Iterable[Any]]
"""Makes events, which takes time."""


class Client(Protocol):
    """OpenLineage's own, as far as it is used."""

    def emit(self, event: Any) -> None:  # noqa: ANN401 - of OpenLineage's classes
        """Send an event; raises whatever its transport does."""

    def close(self, timeout: float = -1.0) -> bool:
        """Send what waits, for so many seconds."""


class Emitter:
    """Sends what it is told of; threads may share it."""

    def __init__(self, client: Callable[[], Client]) -> None:
        """Start nothing yet; `client` is asked for when the first event is there."""
        self._make_client = client
        self._client: Client | None = None
        self._waiting: queue.Queue[Make] = queue.Queue(MOST_WAITING)
        self._trouble = ""
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def tell(self, make: Make) -> None:
        """Have events made and sent some time; takes microseconds, and never fails."""
        try:
            self._waiting.put_nowait(make)
        except queue.Full:
            self._note(f"more than {MOST_WAITING} things wait to be told")
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lineage", daemon=True)
                self._thread.start()

    def flush(self, timeout_s: float = LAST_WORDS_S) -> None:
        """Wait until all is sent, but no longer than that."""
        if self._thread is None:
            return
        until = time.monotonic() + timeout_s
        self.tell(self._close)
        with self._waiting.all_tasks_done:
            while self._waiting.unfinished_tasks and (left := until - time.monotonic()) > 0:
                self._waiting.all_tasks_done.wait(left)

    def _run(self) -> None:
        while True:
            make = self._waiting.get()
            try:
                self._send(make)
            except Exception as problem:  # noqa: BLE001 - lineage is nobody's trouble but its own
                self._note(first_line(problem) or type(problem).__name__)
            finally:
                self._waiting.task_done()

    def _send(self, make: Make) -> None:
        for event in make():
            if self._client is None:
                self._client = self._make_client()
            self._client.emit(event)
            if self._trouble:
                self._trouble = ""
                _LOG.info("lineage is sent again")

    def _close(self) -> Iterable[Any]:
        """Have a transport send what it gathered itself; the next event opens another."""
        client, self._client = self._client, None
        if client is not None:
            client.close(LAST_WORDS_S)
        return ()

    def _note(self, trouble: str) -> None:
        trouble = _LOGIN.sub("://***@", trouble)
        if not self._trouble:
            _LOG.warning("lineage is not sent, and nothing else is held up by that: %s", trouble)
        self._trouble = trouble


_EMITTERS: dict[frozenset[tuple[str, str]], Emitter] = {}
"""By what OpenLineage's variables say; a process has one."""

_LOCK = threading.Lock()


def emitter() -> Emitter | None:
    """This process's emitter; None unless OpenLineage's variables say where events go."""
    told = openlineage_environment()
    if not _is_on(told):
        return None
    with _LOCK:
        return _EMITTERS.setdefault(frozenset(told.items()), Emitter(_open_client))


def _is_on(told: Mapping[str, str]) -> bool:
    if told.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    places = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")
    return any(value and name.startswith(places) for name, value in told.items())


def _open_client() -> Client:
    # Half a second of imports, which only those pay who want lineage.
    try:
        from openlineage.client import OpenLineageClient  # noqa: PLC0415
    except ImportError as problem:
        message = "openlineage-python is not installed: pip install 'lake-assets[openlineage]'"
        raise RuntimeError(message) from problem
    with openlineage_variables_kept():
        return OpenLineageClient()
