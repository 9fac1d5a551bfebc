"""Rows that wait for the registry: caught up as soon as it answers, between demux's batches.

They lie in a table of their own beside bronze, so that the rows around them go on. The move itself
is `silver.reprocess`'s work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from pyspark.sql import SparkSession

from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.errors import RegistryError
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.model.tables import waiting_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_position import reprocess_app
from lake_assets.silver.reprocess import Redo, Redone
from lake_assets.state.files import turn_if_free
from lake_assets.streams.noted_changes import REDO_TURN, finish_change, reprocess_journal
from lake_assets.streams.schemas import Schemas

_PAUSE_S = 5.0
"""Seconds between two looks whether rows wait and the registry answers."""


@dataclass(kw_only=True)
class CatchUp:
    """Moves a feed's waiting rows to where they belong, while its streams run."""

    session: SparkSession
    demux: Demux
    schemas: Schemas
    state_dir: Path
    report: Callable[[BatchReport], None]
    pause_s: float = _PAUSE_S
    _next_at: float = 0.0

    def tick(self) -> Redone | None:
        """Move the rows if some wait and the registry answers; cheap, and not more often than due.

        A requeue or a rebuild that another process is at goes first.

        Raises:
            LakeError: the lake cannot be written.
        """
        if monotonic() < self._next_at:
            return None
        self._next_at = monotonic() + self.pause_s
        feed = self.demux.feed.feed
        handle = open_table(self.demux.context.lake, waiting_of(feed))
        rows = rows_of(handle) if handle is not None else 0
        if not rows:
            return None
        try:
            self.schemas.check()
        except RegistryError as problem:
            self.schemas.announce(self.schemas.why(problem, rows))
            return None
        with turn_if_free(self.state_dir, REDO_TURN) as is_free:
            return self._move() if is_free else None

    def _move(self) -> Redone:
        feed = self.demux.feed
        journal = reprocess_journal(self.demux.context.lake, feed)
        finish_change(journal, self.demux.context, feed)
        done = Redo(session=self.session, demux=self.demux, journal=journal).catch_up()
        self.schemas.announce(None)
        self.report(
            BatchReport(
                feed=feed.feed,
                stage=Stage.DEMUX,
                batch_id=done.number,
                rows=done.rows,
                span=Span(query=reprocess_app(feed.feed)),
            )
        )
        return done
