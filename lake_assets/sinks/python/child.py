"""The process of a sink of one's own: calls come in as lines of JSON, what became of them goes out.

It ends when who started it does, also in the middle of a call.
"""

import inspect
import json
import os
import queue
import resource
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, TypeAlias

from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.feeds.functions import NamedFunction
from lake_assets.sinks.python.protocol import Refused, Retry, Unusable

_KEPT_CHARACTERS = 16_384
"""Of a reason."""


_Asked: TypeAlias = tuple[int, dict[str, Any]]
"""The number of a line, which its answer has too, and what it says."""


def main() -> None:
    """Make the class, then deliver call after call."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the class prints is no answer
    lines = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # nor are calls for what it starts
    os.close(nothing)
    calls: queue.Queue[_Asked | None] = queue.Queue()
    is_busy = threading.Event()
    reader = threading.Thread(target=_read, args=(lines, calls, is_busy), daemon=True)
    reader.start()
    made = calls.get()
    if made is None:
        return
    is_busy.set()
    number, told = made
    sink, answer = _made(told)
    _answer(answers, {**answer, "number": number}, is_busy)
    while sink is not None and (asked := calls.get()) is not None:
        is_busy.set()
        number, call = asked
        _answer(answers, {**_delivered(sink, call), "number": number}, is_busy)
    close = getattr(sink, "close", None)
    if callable(close):
        close()


def _read(lines: IO[bytes], calls: "queue.Queue[_Asked | None]", is_busy: threading.Event) -> None:
    for line in lines:
        number, _, asked = line.partition(b" ")
        calls.put((int(number), json.loads(asked)))
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
        returned = sink.deliver(call["rows"], call["key"])
    except Refused as problem:
        return _refusal(problem, count)
    except Unusable as problem:
        return {"unusable": _text(problem)}
    except Retry as problem:
        return {"retry": _text(problem), "after_s": _seconds(problem.after_s)}
    except Exception as problem:  # noqa: BLE001 - a class may raise anything
        return {"retry": _words(problem), "after_s": None}
    if inspect.isawaitable(returned) or inspect.isgenerator(returned):
        text = "has a `deliver` that delivers nothing: it returned before it delivered, with "
        return {"unusable": f"{text}{type(returned).__name__}. Make it a plain function"}
    return {"done": True}


def _seconds(asked: Any) -> float | None:  # noqa: ANN401 - whatever a class gave
    try:
        return None if asked is None else float(asked)
    except (TypeError, ValueError):
        return None


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
    return _plain(str(problem)) or type(problem).__name__


def _words(problem: BaseException) -> str:
    """What was raised, and where."""
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f" ({frame.tb_frame.f_code.co_filename}, line {frame.tb_lineno})" if frame else ""
    return _plain(f"{type(problem).__name__}: {first_line(problem)}{where}")


def _plain(text: str) -> str:
    """A reason as a text that can be kept: names of files may have bytes that are none."""
    return text[:_KEPT_CHARACTERS].encode(errors="replace").decode()


if __name__ == "__main__":
    main()
