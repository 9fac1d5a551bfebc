import asyncio
import threading

import pytest

from lake_assets.errors import SinkError
from lake_assets.sinks.base import IDENTITY, Call, Outcome
from lake_assets.sinks.engine import make_calls as make


def make_calls(*arguments, **options):
    return asyncio.run(make(*arguments, **options))


class Slow:
    """A target whose calls take their time; `fails` is the call at which it stands still.

    Args:
        awaits: calls take until that many were under way at a time.
    """

    rows_per_call = 1

    def __init__(self, in_flight, *, fails=None, hangs=(), awaits=0):
        self.in_flight, self.fails, self.hangs, self.awaits = in_flight, fails, hangs, awaits
        self.now = self.most = 0
        self.awaited = asyncio.Event()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    def body_of(self, rows):
        return repr(rows).encode()

    async def deliver(self, call):
        self.now += 1
        self.most = max(self.most, self.now)
        if self.most >= self.awaits:
            self.awaited.set()
        try:
            if call.number in self.hangs:
                await asyncio.Event().wait()
            await asyncio.sleep(0.001)
            await self.awaited.wait()
            if call.number == self.fails:
                raise SinkError("api", "is refused", "Correct it")
            return [Outcome(call=call, is_delivered=True, tries=1, seconds=0.0)]
        finally:
            self.now -= 1


def _pieces(count, read=None):
    for number in range(1, count + 1):
        if read is not None:
            read.append(number)
        yield [Call(number=number, key=str(number), rows=IDENTITY.empty_table(), body=b"")]


def _numbers(outcomes):
    return sorted(outcome.call.number for outcome in outcomes)


def test_all_calls_are_made_and_no_more_at_a_time_than_may_be():
    target = Slow(4, awaits=4)
    outcomes, is_whole = make_calls(target, _pieces(50), pytest.fail, threading.Event())
    assert is_whole
    assert _numbers(outcomes) == list(range(1, 51))
    assert target.most == 4


def test_each_outcome_comes_out_once_however_often_they_are_recorded():
    kept = []
    left, is_whole = make_calls(
        Slow(3), _pieces(1500), kept.extend, threading.Event(), record_every_s=0.0
    )
    assert is_whole
    assert kept
    assert _numbers([*kept, *left]) == list(range(1, 1501))


def test_what_came_out_is_recorded_before_the_sink_stands_still():
    kept = []
    with pytest.raises(SinkError):
        make_calls(Slow(1, fails=5), _pieces(50), kept.extend, threading.Event())
    assert _numbers(kept) == [1, 2, 3, 4]


def test_pieces_that_cannot_be_read_end_it_with_their_error():
    def pieces():
        yield from _pieces(2)
        raise OSError("the disk")

    kept = []
    with pytest.raises(OSError, match="the disk"):
        make_calls(Slow(1), pieces(), kept.extend, threading.Event())
    assert _numbers(kept) in ([], [1], [1, 2])


def test_no_more_is_read_than_is_called_and_outcomes_are_recorded_meanwhile():
    read, kept, stop = [], [], threading.Event()

    def record(outcomes):
        kept.extend(outcomes)
        stop.set()

    hanging = Slow(2, hangs=(5, 6))
    left, is_whole = make_calls(hanging, _pieces(1000, read), record, stop)
    assert not is_whole
    assert _numbers([*kept, *left]) == [1, 2, 3, 4]
    assert len(read) <= 10


def test_a_record_that_fails_ends_it():
    def record(_):
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        make_calls(Slow(2, hangs=(5, 6)), _pieces(100), record, threading.Event())


def test_nothing_to_call_is_over_at_once():
    assert make_calls(Slow(3), iter([]), pytest.fail, threading.Event()) == ([], True)
