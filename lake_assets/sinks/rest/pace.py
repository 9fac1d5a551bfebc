"""When the next call may be made: a rate for all workers, and pauses that the API asks for."""

import asyncio


class Pace:
    """The pace of all calls to an API, of one event loop."""

    def __init__(self, rate: float | None) -> None:
        """No call was made yet; `rate` is calls a second, None without a limit."""
        self._gap_s = 1 / rate if rate else 0.0
        self._next_at = 0.0
        self._paused_until = 0.0
        self.paused_s = 0.0
        """Seconds that the API asked to wait in all, those to come among them."""

    async def turn(self) -> None:
        """Wait until a call may be made; whoever comes first goes first."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            if now < self._paused_until:
                await asyncio.sleep(self._paused_until - now)
                continue
            if not self._gap_s:
                return
            if now >= self._next_at:
                # What was missed is not made up for by calls in a rush, but for a timer's delay.
                self._next_at = max(self._next_at, now - _LATE_S) + self._gap_s
                return
            slot, self._next_at = self._next_at, self._next_at + self._gap_s
            await asyncio.sleep(slot - now)
            if loop.time() >= self._paused_until:
                return

    def pause(self, seconds: float) -> None:
        """Let no further call be made for some time."""
        now = asyncio.get_running_loop().time()
        until = now + seconds
        self.paused_s += max(0.0, until - max(now, self._paused_until))
        self._paused_until = max(self._paused_until, until)


_LATE_S = 0.02
"""Seconds that an event loop may wake late on a busy machine: without them the rate is not met."""
