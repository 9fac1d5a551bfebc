"""The thread that keeps `quality_log` and `stream_log` while the streams run.

A batch waits only for a line in a file (`logs.spool`); measuring lag, committing and upkeep happen
here. A log that cannot be written stops no stream: its entries stay in the spool until it can.
"""

import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake.exceptions import DeltaError

from lake_assets.errors import LakeError
from lake_assets.logs.entries import Entry, entry_of
from lake_assets.logs.spool import Spool
from lake_assets.logs.write import append, keep_up
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import STREAM_LOG
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.lag import Lags
from lake_assets.streams.watch import Watch

_LOG = logging.getLogger(__name__)


def spool_folder(settings: Settings) -> Path:
    """Where entries wait for their commit."""
    return settings.state_dir / "log-spool"


@contextmanager
def keep_log_thread(
    settings: Settings, feeds: Sequence[Feed], endpoints: Endpoints, watch: Watch | None = None
) -> Iterator["LogThread"]:
    """Keep the logs until the end of the block; what is left is committed then.

    Only the holder of the lake's lock may: the spool belongs to one process. `watch` is told of
    the lags that are measured.
    """
    log_thread = LogThread(settings, feeds, endpoints, watch)
    log_thread.start()
    try:
        yield log_thread
    finally:
        log_thread.stop()


class LogThread:
    """Keeps batches' reports as log entries; `keep_logbook` starts and stops it."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        endpoints: Endpoints,
        watch: Watch | None = None,
    ) -> None:
        """Prepare the thread; nothing starts yet."""
        self._watch = watch or Watch(settings, feeds, None)
        self._settings = settings
        self._feeds = {feed.feed: feed for feed in feeds}
        self._lags = Lags(lake_of(settings), endpoints, seen=self._watch.ends)
        self._spool = Spool(spool_folder(settings))
        self._heard: queue.Queue[tuple[BatchReport, Entry] | None] = queue.Queue()
        self._lag_of: dict[tuple[str, int], int | None] = {}
        self._thread = threading.Thread(target=self._run, name="logbook", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Commit what is left, and end."""
        self._heard.put(None)
        self._thread.join()

    def is_alive(self) -> bool:
        """Whether its thread has not ended."""
        return self._thread.is_alive()

    def add(self, report: BatchReport) -> None:
        """Keep a batch, safe from a kill once this returns; takes a tenth of a millisecond."""
        entry = entry_of(report, self._feeds[report.feed], datetime.now(UTC))
        try:
            self._spool.add(entry)
        except OSError as problem:
            _LOG.warning("a batch is missing in the logs: %s", problem)
            return
        self._heard.put((report, entry))

    def keep(self, entries: Sequence[Entry]) -> None:
        """Keep what was logged otherwise than by a batch, as `add` does."""
        try:
            for entry in entries:
                self._spool.add(entry)
        except OSError as problem:
            _LOG.warning("a refresh is missing in the logs: %s", problem)

    def _run(self) -> None:
        next_at = time.monotonic()  # what a former process left is due at once
        while True:
            if time.monotonic() >= next_at:
                self._commit()
                next_at = time.monotonic() + self._settings.log.append_every_s
            try:
                heard = self._heard.get(timeout=max(0.0, next_at - time.monotonic()))
            except queue.Empty:
                continue
            if heard is None:
                break
            self._measure(*heard)
        self._commit()

    def _measure(self, report: BatchReport, entry: Entry) -> None:
        if entry.mark is not None:
            lag = self._lags.of(report, self._feeds[report.feed])
            self._lag_of[(entry.mark.app_id, entry.mark.version)] = lag
            self._watch.lag(report, lag)

    def _commit(self) -> None:
        try:
            entries = [self._with_lag(entry) for entry in self._spool.take()]
            if not entries:
                return
            with open_lake(self._settings) as context:
                append(context, entries)
                self._spool.forget()
                self._lag_of.clear()
                keep_up(context, self._settings.log, datetime.now(UTC))
        except (LakeError, DeltaError, OSError, pa.ArrowException) as problem:
            _LOG.warning("the logs wait: %s", problem)

    def _with_lag(self, entry: Entry) -> Entry:
        mark = entry.mark
        lag = self._lag_of.get((mark.app_id, mark.version)) if mark else None
        if lag is None:
            return entry
        measured = [{**row, "lag_rows": lag} for row in entry.rows[STREAM_LOG.name]]
        return replace(entry, rows={**entry.rows, STREAM_LOG.name: measured})
