"""A process that delivers for a sink of one's own, seen by who starts it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from lake_assets.errors import SinkError
from lake_assets.model.python_sink import PythonSink

_LONGEST_LINE = 1 << 24
"""Bytes of an answer, of which a reason has the most."""

_ENDS_WITHIN_S = 5.0
"""Seconds that a process has to close what it has open."""

_COMMAND = (sys.executable, "-m", "lake_assets.sinks.python.child")

Answer: TypeAlias = dict[str, Any]
"""`done`, `refused` with `rows`, `retry` with `after_s`, or `unusable`."""


class Process:
    """One process, of one event loop, which makes one call at a time."""

    def __init__(self, process: asyncio.subprocess.Process, within_s: float) -> None:
        """Of one that was started; `start` does."""
        self._process, self._within_s = process, within_s
        self._asked = 0

    @classmethod
    async def start(cls, sink: PythonSink, secrets: Mapping[str, str]) -> "Process":
        """Start one and have the class made.

        Raises:
            SinkError: it cannot be.
        """
        process = await asyncio.create_subprocess_exec(
            *_COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,  # so that what it starts ends with it, and Ctrl-C is ours
        )
        made = cls(process, sink.timeout.total_seconds())
        told = {
            "class": sink.class_name,
            "path": sys.path,
            "options": {**sink.options, **secrets},
            "memory_mb": sink.memory_mb,
        }
        answer = await made.ask(json.dumps(told).encode())
        if "done" not in answer:
            await made.kill()
            _refuse(sink, str(answer.get("unusable") or answer.get("retry")))
        return made

    async def ask(self, line: bytes) -> Answer:
        """Send a line, and wait for its answer; a process that gives none is killed."""
        try:
            async with asyncio.timeout(self._within_s):
                answer = await self._exchange(line)
        except TimeoutError:
            await self.kill()
            return {"retry": f"gave no answer within {self._within_s:g} s", "after_s": None}
        except BaseException:
            await self.kill()
            raise
        if answer is None:
            await self.kill()
            code = self._process.returncode
            how = f"by signal {-code}" if code is not None and code < 0 else f"with {code}"
            return {"retry": f"its process ended {how}", "after_s": None}
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.returncode is None

    async def kill(self) -> None:
        """End it now, and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        with suppress(TimeoutError):  # of what has left its group, which is let go
            await asyncio.wait_for(self._process.stdout.read(), _ENDS_WITHIN_S)

    async def close(self) -> None:
        """Have it end by itself, or end it after some seconds."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _ENDS_WITHIN_S)
        await self.kill()

    async def _exchange(self, line: bytes) -> Answer | None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - pipes
        assert stdout is not None  # noqa: S101
        try:
            self._asked += 1
            stdin.write(b"%d %b\n" % (self._asked, line))
            await stdin.drain()
            while answer := await stdout.readline():
                told = dict(json.loads(answer))
                # A class that forks has two that answer: what comes late is of an older call.
                if told.pop("number", None) == self._asked:
                    return told
        except (ConnectionError, ValueError):  # it is gone, or wrote what is none
            return None
        return None


def _refuse(sink: PythonSink, fact: str) -> NoReturn:
    raise SinkError(f"class {sink.class_name}", fact, "Correct the class, or its options")
