"""What it takes to write a lake, handed through the rooms as one thing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from lake_assets.lake.commits import CommitDoor
from lake_assets.lake.crash_recovery import recover_after_crash
from lake_assets.lake.session_digest import session_digest
from lake_assets.lake.state import ensure_writable
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import FanoutSettings, Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """A lake's folder, the door its commits go through, and the bound on a writing task."""

    lake: Path
    door: CommitDoor
    buffer_bytes: int
    bucket_rows: int = FanoutSettings().bucket_rows
    session: str = ""
    """`session_digest` of the settings."""


@contextmanager
def lake_means(settings: Settings, session: SparkSession | None = None) -> Iterator[Means]:
    """Open the lake of `settings` for writing; the door is closed at the end.

    Args:
        settings: where the lake is.
        session: judges rows of tables with constraints, which are refused without it.

    Raises:
        LakeError: the folder cannot be written, or a table's log is torn where it cannot be mended.
    """
    ensure_writable(settings.lake_dir)
    recover_after_crash(settings.lake_dir, settings.state_dir, boot_id())
    fanout = settings.fanout
    door = CommitDoor(
        settings.lake_dir,
        threads=fanout.commit_threads,
        durability=fanout.durability,
        session=session,
    )
    try:
        yield Means(
            lake=settings.lake_dir,
            door=door,
            buffer_bytes=fanout.buffer_bytes,
            bucket_rows=fanout.bucket_rows,
            session=session_digest(settings),
        )
    finally:
        door.close()
