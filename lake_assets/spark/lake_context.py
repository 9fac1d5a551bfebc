"""What it takes to write a lake, handed through the rooms as one thing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from lake_assets.delta.committer import Committer
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import FanoutSettings, Settings
from lake_assets.spark.session_digest import session_digest
from lake_assets.spark.table_constraints import ensure_met
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.state.files import ensure_writable, turn
from lake_assets.state.keep import kept_current
from lake_assets.state.lake_id import ensure_bound
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class LakeContext:
    """The committer that a lake's commits go through, and the bounds on what a task writes."""

    committer: Committer
    buffer_bytes: int
    bucket_rows: int = FanoutSettings().bucket_rows
    refresh_tasks: int | None = None
    """At once, of a refresh beside streams; None for one a core."""

    session: str = ""
    """`session_digest` of the settings."""

    erasures: ErasureLedger | None = None
    """Whose rows are erased and are to stay so; None of a lake that was put together for a test."""

    @property
    def lake(self) -> Store:
        """The store at the lake's root."""
        return self.committer.store


_ON_A_DISK, _IN_A_BUCKET = 2, 64
"""Tables committed at once. A disk hardly makes a commit wait; a bucket does for tens of
milliseconds, and as many connections are few for it."""


def commit_threads_of(lake: Store) -> int:
    """How many tables of a lake are committed at once, if nobody says."""
    return _ON_A_DISK if lake.root.is_local else _IN_A_BUCKET


@contextmanager
def open_lake(settings: Settings, session: SparkSession | None = None) -> Iterator[LakeContext]:
    """Open the lake of `settings` for writing; the committer is closed at the end.

    Args:
        settings: where the lake is.
        session: evaluates rows of tables with constraints, which are refused without it.

    Raises:
        ForeignStateError: the state folder is not this lake's.
        LakeError: the folder cannot be written, or a table's log is torn where it cannot be
            repaired.
    """
    ensure_bound(settings)
    fanout = settings.fanout
    with writable(settings) as lake:
        committer = Committer(
            lake,
            threads=fanout.commit_threads or commit_threads_of(lake),
            check_constraints=partial(ensure_met, session) if session is not None else None,
        )
        try:
            yield LakeContext(
                committer=committer,
                buffer_bytes=fanout.buffer_bytes,
                bucket_rows=fanout.bucket_rows,
                session=session_digest(settings),
                erasures=ErasureLedger(lake, settings.state_dir, settings.erasure.key_bytes),
            )
        finally:
            committer.close()


@contextmanager
def writable(settings: Settings) -> Iterator[Store]:
    """The store at the lake's root, kept from other machines while the block runs.

    Raises:
        LakeError: another machine writes it; or as `open_lake`.
    """
    root, state_dir = settings.lake_root, settings.state_dir
    if root.is_local:
        ensure_writable(settings.lake_dir)
        lake = lake_of(settings)
        recover_after_crash(lake, state_dir, boot_id())
        yield lake
        return
    # Loaded only for buckets, as their store is. A bucket tears nothing.
    from lake_assets.delta.fences import fence_tables  # noqa: PLC0415
    from lake_assets.state.lease import LakeLease  # noqa: PLC0415
    from lake_assets.storage.fenced import FencedStore  # noqa: PLC0415

    options = settings.storage.secrets
    lease = LakeLease(root=root, options=options, state_dir=state_dir)
    with lease.held(_sleep) as taken:
        fenced = FencedStore(root, options, taken)
        with turn(state_dir, "fences"):
            if not taken.is_fenced():
                fence_tables(fenced, taken.token)
                taken.note_fenced()
        with kept_current(settings):
            yield fenced


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False
