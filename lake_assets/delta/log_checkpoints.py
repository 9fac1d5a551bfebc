"""Log checkpoints of one committer: when one is due, and writing it beside the commits that follow.

No commit needs a checkpoint, only readers do, who would replay the log from its beginning without.
"""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from zlib import crc32

from deltalake.exceptions import TableNotFoundError

from lake_assets.delta.log_tail import files_of_checkpoint
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store

CHECKPOINT_EVERY = 40
"""Commits between two checkpoints of a log with few files. A reader replays the commits since the
last one, at 0.3 ms each; a checkpoint costs 13 ms, and at 10 it took as long as the commits."""

_CHECKPOINTS_RAREST = 160
"""Commits between two checkpoints at most: what a reader replays takes 50 ms then."""

_FILES_A_COMMIT = 20
"""Files that a checkpoint may name for each commit that it sums up. Naming all of them each ten
commits would cost the more, the longer a table is appended to (0.03 ms a file)."""

_IN_A_BUCKET = 8
"""Checkpoints at once: each asks the bucket for ten things, one after the other."""

_SWEEPS = "delta.enableExpiredLogCleanup"
"""Table property: whether commits older than the log's retention go when a checkpoint has them."""


class Checkpoints:
    """Checkpoints under way, a table's in the order of its commits. Thread-safe.

    On a disk there is one at a time: it takes a core. In a bucket it waits for most of its time.
    """

    def __init__(self, store: Store) -> None:
        """Checkpoint tables of the lake whose folder is the store's root."""
        self.store = store
        threads = 1 if store.root.is_local else _IN_A_BUCKET
        self._pools = [
            ThreadPoolExecutor(1, thread_name_prefix="checkpoint") for _ in range(threads)
        ]
        self._under_way: deque[Future[None]] = deque()

    def after(self, table: TableRef, version: int) -> None:
        """Have a table's log checkpointed at this version, its newest, if that is due."""
        # What is due with some files is due with none, too, and that costs no look at the log.
        if not is_checkpoint_due(table, version):
            return
        log = log_of(self.store, table)
        if is_checkpoint_due(table, version, files_of_checkpoint(log)):
            pool = self._pools[crc32(table.name.encode()) % len(self._pools)]
            self._under_way.append(pool.submit(_checkpoint, log, version))

    def ensure_none_failed(self) -> None:
        """Tell of one that failed since the last time; those that are not done yet are left.

        Raises:
            DeltaError: deltalake could not read or write the log.
            LakeError: the log's folder cannot be used.
        """
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft().result()

    def settle(self) -> None:
        """Wait for those under way; raises as `ensure_none_failed`."""
        wait(self._under_way)
        self.ensure_none_failed()

    def close(self) -> None:
        """Wait for those under way and release the threads; raises as `ensure_none_failed`."""
        for pool in self._pools:
            pool.shutdown()
        self.ensure_none_failed()


def _checkpoint(log: TableLog, version: int) -> None:
    with suppress(TableNotFoundError):  # a table that is gone needs none
        # Opened for this alone: a kept handle would replay all that it ever saw.
        handle = log.open(version)
        handle.create_checkpoint()
        # The sweep deletes commits that then stand in the checkpoint alone.
        log.store.sync(log.file(f"{version:020}.checkpoint.parquet"))
        is_swept = handle.metadata().configuration.get(_SWEEPS, "true") == "true"
        if is_swept and not features_of(handle).keeps_checkpoints:
            handle.cleanup_metadata()


def is_checkpoint_due(table: TableRef, version: int, files: int = 0) -> bool:
    """Whether a table's log is to be checkpointed at this version.

    Tables of one feed get their commits together; each begins at another of the ten or more, so
    that a batch pays for its share of the tables' checkpoints and not for all of them at times.

    Args:
        table: whose log.
        version: its newest.
        files: of the table, about. With more of them the same versions are due, or fewer.
    """
    every = CHECKPOINT_EVERY
    while files >= every * _FILES_A_COMMIT and every < _CHECKPOINTS_RAREST:
        every *= 2
    return version > 0 and (version + crc32(table.name.encode())) % every == 0
