"""Rows that wait for the registry: caught up as soon as it answers, between demux's batches.

They lie in a table of their own beside bronze, so that the rows around them go on. The move itself
is `silver.redo`'s work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, time

from pyspark.sql import SparkSession

from lake_assets.errors import RegistryError
from lake_assets.lake.change import Batch
from lake_assets.lake.history import open_table, rows_of
from lake_assets.lake.journal import Journal
from lake_assets.model.reports import BatchReport, Hop
from lake_assets.model.tables import waiting_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.redo import Redo, Redone, finish
from lake_assets.streams.schemas import Schemas

_PAUSE_S = 5.0
"""Seconds between two looks whether rows wait and the registry answers."""


@dataclass(kw_only=True)
class CatchUp:
    """Moves a feed's waiting rows to where they belong, while its streams run."""

    session: SparkSession
    demux: Demux
    schemas: Schemas
    journal: Journal
    report: Callable[[BatchReport], None]
    pause_s: float = _PAUSE_S
    _next_at: float = 0.0

    def prepare(self) -> None:
        """Finish a move that a former process began.

        Raises:
            LakeError: the lake cannot be written.
        """
        finish(self.journal, self.demux.means.door, self.demux.feed)

    def tick(self) -> Redone | None:
        """Move the rows if some wait and the registry answers; cheap, and not more often than due.

        Raises:
            LakeError: the lake cannot be written.
        """
        if monotonic() < self._next_at:
            return None
        self._next_at = monotonic() + self.pause_s
        feed = self.demux.feed.feed
        handle = open_table(self.demux.means.lake, waiting_of(feed))
        rows = rows_of(handle) if handle is not None else 0
        if not rows:
            return None
        try:
            self.schemas.check()
        except RegistryError as problem:
            self.schemas.announce(self.schemas.why(problem, rows))
            return None
        batch = Batch(app_id=f"lake_assets-waiting-{feed}", version=int(time() * 1000))
        redo = Redo(session=self.session, demux=self.demux, journal=self.journal, batch=batch)
        done = redo.catch_up()
        self.schemas.announce(None)
        self.report(BatchReport(feed=feed, hop=Hop.DEMUX, batch_id=batch.version, rows=done.rows))
        return done
