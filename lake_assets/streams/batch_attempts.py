"""A feed's batches, tried: one that fails again and again is poison, and is not tried for ever.

Counts failures that are the batch's own (`streams.batch_errors`), also those that took the process
along, and over restarts. Putting a batch aside is `streams.skip_batch`'.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from lake_assets.bronze.batch_range import offsets_of
from lake_assets.errors import PoisonedBatchError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage
from lake_assets.state.batch_strikes import (
    BatchRange,
    Strikes,
    forget_strikes,
    read_strikes,
    strikes_by_stage,
    strikes_file,
    write_strikes,
)
from lake_assets.streams.batch_errors import Blame, blame_for, cause_of

MOST_STRIKES = 3
"""Failures in a row after which a batch counts as poisoned. One may be a worker's that the system
killed; each costs the work of the batch."""


@dataclass(kw_only=True)
class BatchAttempts:
    """Those of one stage of one feed, by one process; used by one thread, `end` by any other."""

    state_dir: Path
    feed: str
    stage: Stage

    counted: int = 0
    """Failures that this process has counted."""

    _strikes: Strikes | None = None
    _is_settled: bool = False
    _is_ending: bool = False
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Count what the process before died at."""
        found = read_strikes(self.file)
        if found is not None and found.is_running:
            found = replace(
                found,
                is_running=False,
                deaths=found.deaths + 1,
                cause="the process of the streams died",
                until=found.until or found.batch.end,
            )
            write_strikes(self.file, found)
        self._strikes = found

    @property
    def file(self) -> Path:
        """Where failures are counted."""
        return strikes_file(self.state_dir, self.feed, self.stage)

    @property
    def small_until(self) -> str:
        """The end of a batch that failed, up to which batches are to be small; "" if there is none.

        In the form of `BatchRange.end`.
        """
        return self._strikes.until if self._strikes else ""

    @contextmanager
    def attempt(self, batch: BatchRange) -> Iterator[None]:
        """Try a batch in the block.

        Raises:
            PoisonedBatchError: its last failures took the process along, and it is not tried; or
                it failed once more, and often enough.
        """
        strikes = self._begun(batch)
        if strikes.deaths >= MOST_STRIKES:
            raise self._poisoned(strikes)
        self._is_settled = False
        self._keep(replace(strikes, is_running=True))
        try:
            yield
        except Exception as problem:
            if self._is_settled:
                raise
            failed = _struck(strikes, problem)
            self._keep(failed)
            self.counted += failed.count - strikes.count
            if failed.count > strikes.count and is_poisoned(failed):
                raise self._poisoned(failed) from problem
            raise
        except BaseException:
            if not self._is_settled:
                self._keep(strikes)  # told to end
            raise
        if not self._is_settled:
            self._done(strikes)

    def settle(self) -> None:
        """Take note that the batch under way is in its table: what fails now is not its failure."""
        self._is_settled = True
        if self._strikes is not None:
            self._done(self._strikes)

    def forget(self) -> None:
        """Take note that there is nothing to try any more, whatever became of it."""
        with self._writing:
            if self._strikes is not None:
                self._strikes = None
                forget_strikes(self.file)

    def end(self) -> None:
        """Take note that the process was asked to end: if it is killed now, no batch did that."""
        with self._writing:
            self._is_ending = True
            if self._strikes is not None and self._strikes.is_running:
                write_strikes(self.file, replace(self._strikes, is_running=False))

    def _begun(self, batch: BatchRange) -> Strikes:
        """What is known of a batch that begins."""
        last = self._strikes
        if last is None:
            return Strikes(batch=batch)
        if last.batch.begin == batch.begin:
            return replace(last, batch=batch)
        return Strikes(batch=batch, until=last.until)

    def _done(self, strikes: Strikes) -> None:
        """The next batch begins elsewhere, and is another one; small ones may be to come yet."""
        if strikes.until and not self._reaches(strikes.batch.end, strikes.until):
            self._keep(Strikes(batch=strikes.batch, until=strikes.until))
            return
        self.forget()

    def _reaches(self, end: str, until: str) -> bool:
        """Whether a batch that ends there is the last of those that are to be small."""
        if self.stage is not Stage.INGEST:
            return int(end) >= int(until)
        reached = offsets_of(end)
        return all(reached.get(p, 0) >= offset for p, offset in offsets_of(until).items())

    def _keep(self, strikes: Strikes) -> None:
        with self._writing:
            self._strikes = strikes
            is_running = strikes.is_running and not self._is_ending
            write_strikes(self.file, replace(strikes, is_running=is_running))

    def _poisoned(self, strikes: Strikes) -> PoisonedBatchError:
        return _poisoned(self.feed, self.stage, strikes)


def _poisoned(feed: str, stage: Stage, strikes: Strikes) -> PoisonedBatchError:
    return PoisonedBatchError(
        feed,
        stage,
        batch=strikes.batch.words,
        failures=strikes.count,
        cause=strikes.cause,
    )


def poisoned_batches(state_dir: Path, feed: Feed) -> list[str]:
    """The batches at which a feed failed often enough, in words, with what to do.

    None of demux where the feed has no silver tables any more: nothing takes those batches.
    """
    return [
        str(_poisoned(feed.feed, stage, strikes))
        for stage, strikes in strikes_by_stage(state_dir, feed.feed).items()
        if is_poisoned(strikes) and (feed.has_silver or stage is Stage.INGEST)
    ]


def is_poisoned(strikes: Strikes) -> bool:
    """Whether a batch failed often enough, in one way."""
    return max(strikes.errors, strikes.deaths) >= MOST_STRIKES


def _struck(strikes: Strikes, problem: Exception) -> Strikes:
    blame = blame_for(problem)
    if blame is Blame.SURROUNDINGS:
        return strikes
    return replace(
        strikes,
        errors=strikes.errors + (blame is Blame.BATCH),
        deaths=strikes.deaths + (blame is Blame.CRASH),
        cause=cause_of(problem),
        until=strikes.until or strikes.batch.end,
    )


@dataclass(kw_only=True)
class FeedAttempts:
    """Those of all stages of a feed."""

    ingest: BatchAttempts
    demux: BatchAttempts
    catch_up: BatchAttempts

    @classmethod
    def of(cls, state_dir: Path, feed: Feed) -> "FeedAttempts":
        """Those of a process that begins."""
        return cls(
            ingest=BatchAttempts(state_dir=state_dir, feed=feed.feed, stage=Stage.INGEST),
            demux=BatchAttempts(state_dir=state_dir, feed=feed.feed, stage=Stage.DEMUX),
            catch_up=BatchAttempts(state_dir=state_dir, feed=feed.feed, stage=Stage.CATCH_UP),
        )

    def end(self) -> None:
        """As theirs."""
        self.ingest.end()
        self.demux.end()
        self.catch_up.end()

    @property
    def counted(self) -> int:
        """Failures that this process has counted."""
        return self.ingest.counted + self.demux.counted + self.catch_up.counted
