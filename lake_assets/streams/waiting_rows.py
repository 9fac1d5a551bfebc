"""Rows that wait for the registry: caught up as soon as it answers, between demux's batches.

They lie in a table of their own beside bronze, so that the rows around them go on. The move itself
is `silver.reprocess`'s work. One that fails again and again is a poisoned batch like any other.
"""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from pyspark.sql import SparkSession

from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.errors import PoisonedBatchError, RegistryError
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.model.tables import quarantine_of, waiting_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_position import reprocess_app
from lake_assets.silver.redone import Redone
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.set_aside import skipped_since
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.state.files import turn_if_free
from lake_assets.streams.background_question import BackgroundQuestion
from lake_assets.streams.batch_attempts import BatchAttempts
from lake_assets.streams.noted_changes import REDO_TURN, finish_change, reprocess_journal
from lake_assets.streams.schemas import Schemas
from lake_assets.streams.skip_request import end_request, is_asked_to_skip, withdraw_outdated

_LOG = logging.getLogger(__name__)

_PAUSE_S = 5.0
"""Seconds between two looks whether rows wait and the registry answers."""

_PATIENCE_S = 0.5
"""Seconds for its answer, which comes in milliseconds. Demux goes on without one, and a later look
finds it: one that hangs would hold up rows of known schemas for as long as a question lasts."""


@dataclass(kw_only=True)
class CatchUp:
    """Moves a feed's waiting rows to where they belong, while its streams run."""

    session: SparkSession
    demux: Demux
    schemas: Schemas
    state_dir: Path
    report: Callable[[BatchReport], None]
    attempts: BatchAttempts | None = None
    """By which moves are counted that fail."""

    pause_s: float = _PAUSE_S
    _next_at: float = 0.0
    _question: BackgroundQuestion | None = None

    def tick(self) -> Redone | None:
        """Move the rows if some wait and the registry answers; cheap, and not more often than due.

        Batches ask it again then as well. A requeue or a rebuild of another process goes first.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
            PoisonedBatchError: the move failed again and again.
            LakeError: the lake cannot be written.
        """
        patience_s: float | None = 0.0 if self._question else _PATIENCE_S
        if not self.schemas.may_wait:
            patience_s = None  # who ends with the last row waits for the answer
        question = self._question or self._asked()
        if question is None or not question.is_answered(patience_s):
            return None
        self._question, self._next_at = None, monotonic() + self.pause_s
        rows = self._rows()
        try:
            question.ensure()
        except RegistryError as problem:
            self.schemas.announce(self.schemas.why(problem, rows))
            return None
        if not rows:
            self.schemas.announce(None)
            return None
        with turn_if_free(self.state_dir, REDO_TURN) as is_free:
            return self._move() if is_free else None

    def _asked(self) -> BackgroundQuestion | None:
        """The question whether the registry answers, if it is due and somebody wants to know."""
        if monotonic() < self._next_at:
            return None
        self._next_at = monotonic() + self.pause_s
        rows = self._rows()
        if not rows:  # a requeue or a rebuild may have taken them
            withdraw_outdated(self.state_dir, self.demux.feed, Stage.CATCH_UP)
            if self.attempts is not None:
                self.attempts.forget()
        if rows or self.schemas.is_silent:
            self._question = BackgroundQuestion(self.schemas.check)
        return self._question

    def _rows(self) -> int:
        """How many rows wait."""
        handle = open_table(self.demux.context.lake, waiting_of(self.demux.feed.feed))
        return rows_of(handle) if handle is not None else 0

    def _move(self) -> Redone:
        feed = self.demux.feed
        journal = reprocess_journal(self.demux.context.lake, feed)
        finish_change(journal, self.demux.context, feed)
        redo = Redo(session=self.session, demux=self.demux, journal=journal)
        batch = self._batch()
        if is_asked_to_skip(self.state_dir, feed, Stage.CATCH_UP, batch.begin):
            done = self._skip(redo, batch)
        else:
            done = self._tried(redo, batch)
        self.schemas.announce(None)
        self.report(
            BatchReport(
                feed=feed.feed,
                stage=Stage.DEMUX,
                batch_id=done.number,
                rows=done.rows,
                duplicates=done.duplicates,
                span=Span(query=reprocess_app(feed.feed)),
            )
        )
        return done

    def _batch(self) -> BatchRange:
        """The rows that wait, as one batch: the same one until some of them leave."""
        feed = self.demux.feed.feed
        handle = self.demux.context.committer.fresh(waiting_of(feed))
        left = handle.transaction_version(reprocess_app(feed)) or 0
        return BatchRange(
            begin=f"{handle.metadata().id} {left}",
            end=str(handle.version()),
            words=f"{rows_of(handle):,} rows of {waiting_of(feed).name}",
        )

    def _tried(self, redo: Redo, batch: BatchRange, *, skip_failing: bool = False) -> Redone:
        with self.attempts.attempt(batch) if self.attempts else nullcontext():
            return redo.catch_up(skip_failing=skip_failing)

    def _skip(self, redo: Redo, batch: BatchRange) -> Redone:
        """Put those rows aside that an expectation refuses; all, if that is not what is wrong."""
        feed = self.demux.feed
        try:
            done = self._tried(redo, batch, skip_failing=True)
        except PoisonedBatchError as problem:
            done = redo.catch_up(skip_all=skipped_since(f"it failed: {problem.cause}"))
        if self.attempts is not None:
            self.attempts.forget()
        end_request(self.state_dir, feed, Stage.CATCH_UP)
        aside = done.rows.get(quarantine_of(feed.feed).name, 0)
        _LOG.warning("feed %r skipped rows that waited: %d of %s", feed.feed, aside, batch.words)
        return done
