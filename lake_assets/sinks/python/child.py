"""The process of a sink of one's own: calls come in as lines of JSON, what became of them goes out.

It ends when who started it does, also in the middle of a call.
"""

import json
import os
import queue
import resource
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.feeds.functions import NamedFunction
from lake_assets.sinks.python.protocol import Refused, Retry, Unusable

_KEPT_CHARACTERS = 16_384
"""Of a reason."""


def main() -> None:
    """Make the class, then deliver call after call."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the class prints is no answer
    calls: queue.Queue[dict[str, Any] | None] = queue.Queue()
    is_busy = threading.Event()
    reader = threading.Thread(target=_read, args=(sys.stdin.buffer, calls, is_busy), daemon=True)
    reader.start()
    made = calls.get()
    if made is None:
        return
    is_busy.set()
    sink, answer = _made(made)
    _answer(answers, answer, is_busy)
    while sink is not None and (call := calls.get()) is not None:
        is_busy.set()
        _answer(answers, _delivered(sink, call), is_busy)
    close = getattr(sink, "close", None)
    if callable(close):
        close()


def _read(
    lines: IO[bytes], calls: "queue.Queue[dict[str, Any] | None]", is_busy: threading.Event
) -> None:
    for line in lines:
        calls.put(json.loads(line))
    if is_busy.is_set():
        os._exit(1)  # nobody waits for the answer any more
    calls.put(None)


def _answer(answers: IO[str], answer: dict[str, Any], is_busy: threading.Event) -> None:
    is_busy.clear()
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _made(told: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The class's object, and what to say of it."""
    sys.path += [place for place in told["path"] if place not in sys.path]
    limit = told["memory_mb"] * 1024 * 1024
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        kind: Callable[..., Any] = NamedFunction(told["class"]).load()
        sink = kind(**told["options"])
    except LakeAssetsError as problem:
        return None, {"unusable": str(problem)}
    except BaseException as problem:  # noqa: BLE001 - a class may raise anything
        return None, {"unusable": f"cannot be made: {_words(problem)}"}
    if not callable(getattr(sink, "deliver", None)):
        return None, {"unusable": "has no method `deliver`"}
    return sink, {"done": True}


def _delivered(sink: Any, call: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - of any class
    count = len(call["rows"])
    try:
        sink.deliver(call["rows"], call["key"])
    except Refused as problem:
        return _refusal(problem, count)
    except Unusable as problem:
        return {"unusable": _text(problem)}
    except Retry as problem:
        return {"retry": _text(problem), "after_s": problem.after_s}
    except Exception as problem:  # noqa: BLE001 - a class may raise anything
        return {"retry": _words(problem), "after_s": None}
    return {"done": True}


def _refusal(problem: Refused, count: int) -> dict[str, Any]:
    if problem.rows is None:
        return {"refused": _text(problem), "rows": list(range(count))}
    rows: list[Any] = list(problem.rows)
    wrong = next((row for row in rows if not isinstance(row, int) or not 0 <= row < count), None)
    if wrong is not None:
        text = f"Refused names row {wrong!r}, and the call has {count}, from 0 on"
        return {"retry": text, "after_s": None}
    return {"refused": _text(problem), "rows": sorted(set(rows))}


def _text(problem: Exception) -> str:
    return str(problem)[:_KEPT_CHARACTERS] or type(problem).__name__


def _words(problem: BaseException) -> str:
    """What was raised, and where."""
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f" ({frame.tb_frame.f_code.co_filename}, line {frame.tb_lineno})" if frame else ""
    return f"{type(problem).__name__}: {first_line(problem)}{where}"[:_KEPT_CHARACTERS]


if __name__ == "__main__":
    main()
