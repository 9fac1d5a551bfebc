"""A batch of calls, made: many at a time in one event loop, outcomes as they come.

Reading on and recording are done in a thread beside, so that answers are not kept waiting.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from lake_assets.sinks.base import Call, Outcome, Target, refused

_RECORD_EVERY_S = 5.0
"""Seconds after which outcomes are recorded though their batch goes on: what a kill repeats."""

_RECORD_ABOVE = 50_000
"""Rows that wait for it at most."""

_RECORD_LETTERS_ABOVE = 1_000
"""Calls that were given up, likewise: each has its request and its answer, some 30 KB."""

_END_WITHIN_S = 5.0
"""Seconds that calls in flight have to end when the sink is told to stop; those that have not are
made again, under the same keys."""

_LOOK_EVERY_S = 0.1

Record: TypeAlias = Callable[[Sequence[Outcome]], None]
"""Keeps outcomes of a batch that goes on."""


async def make_calls(
    target: Target,
    pieces: Iterator[list[Call]],
    record: Record,
    stop: threading.Event,
    *,
    record_every_s: float = _RECORD_EVERY_S,
) -> tuple[list[Outcome], bool]:
    """Make all calls, at most `target.in_flight` at a time.

    Args:
        target: entered in this event loop; it may stay so for the next batch.
        pieces: the calls; read on when most of them are made.
        record: keeps outcomes; called now and then, never twice at a time.
        stop: ends it early.
        record_every_s: after which outcomes are kept though calls go on.

    Returns:
        The outcomes that were not recorded yet, and whether all calls were made.

    Raises:
        SinkError: as `Target.deliver`; what had come out by then was recorded.
        Exception: as `pieces` and `record`.
    """
    return await _Calls(target, pieces, record, record_every_s).make(stop)


class _Calls:
    """The calls of one batch, under way."""

    def __init__(
        self, target: Target, pieces: Iterator[list[Call]], record: Record, record_every_s: float
    ) -> None:
        self._record_every_s = record_every_s
        self._target, self._pieces, self._record = target, pieces, record
        self._queue: asyncio.Queue[Call | None] = asyncio.Queue(maxsize=target.in_flight)
        self._outcomes: list[Outcome] = []
        self._is_stopping = False
        self._ended = asyncio.Event()

    async def make(self, stop: threading.Event) -> tuple[list[Outcome], bool]:
        work = asyncio.create_task(self._work())
        try:
            while not work.done() and not stop.is_set():
                await asyncio.wait({work}, timeout=_LOOK_EVERY_S)
            if not work.done():
                await self._end_early(work)
                return self._outcomes, False
            await work
        except* Exception as problems:  # noqa: BLE001 - raised again, once what came is kept
            if self._outcomes:
                await asyncio.to_thread(self._record, self._outcomes)
            raise _first(problems) from None
        return self._outcomes, True

    async def _end_early(self, work: "asyncio.Task[None]") -> None:
        self._is_stopping = True
        await asyncio.wait({work}, timeout=_END_WITHIN_S)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    async def _work(self) -> None:
        keeper = asyncio.create_task(self._keep())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._feed())
                workers = [
                    group.create_task(self._deliver()) for _ in range(self._target.in_flight)
                ]
                group.create_task(_watched(keeper, workers))
        finally:
            # Not cancelled: a thread that records goes on all the same, and nobody else may then.
            self._ended.set()
            await keeper

    async def _feed(self) -> None:
        while not self._is_stopping:
            calls = await asyncio.to_thread(next, self._pieces, None)
            if calls is None:
                break
            for call in calls:
                await self._queue.put(call)
        for _ in range(self._target.in_flight):
            await self._queue.put(None)

    async def _deliver(self) -> None:
        while (call := await self._queue.get()) is not None:
            if not self._is_stopping:  # else it is taken out, so that who reads on ends
                is_made = call.refusal is None
                outcomes = await self._target.deliver(call) if is_made else [refused(call)]
                self._outcomes.extend(outcomes)  # looked up now: another list may have begun

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        kept_at = loop.time()
        while not self._ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _LOOK_EVERY_S)
            is_due = loop.time() - kept_at >= self._record_every_s
            if self._outcomes and (is_due or _are_many(self._outcomes)):
                taken, self._outcomes = self._outcomes, []
                await asyncio.to_thread(self._record, taken)
                kept_at = loop.time()


def _are_many(outcomes: Sequence[Outcome]) -> bool:
    letters = sum(not one.is_delivered for one in outcomes)
    rows = sum(one.call.rows.num_rows for one in outcomes)
    return letters >= _RECORD_LETTERS_ABOVE or rows >= _RECORD_ABOVE


async def _watched(keeper: "asyncio.Task[None]", workers: "Sequence[asyncio.Task[None]]") -> None:
    """Raise what ended the keeper, as long as there is work."""
    while not all(worker.done() for worker in workers):
        left = [worker for worker in workers if not worker.done()]
        await asyncio.wait({keeper, *left}, return_when=asyncio.FIRST_COMPLETED)
        if keeper.done():
            keeper.result()


def _first(problems: BaseExceptionGroup[Exception]) -> Exception:
    """The error that ended the others."""
    found: BaseException = problems
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, Exception)  # noqa: S101 - only such are caught
    return found
