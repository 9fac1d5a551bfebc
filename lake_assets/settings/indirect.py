"""Values that a variable does not hold itself: `NAME_FILE` says where, `NAME_COMMAND` who says it.

A file is read each time; what a command said is used for up to a minute, since some secrets are
looked up for each batch. No error repeats what was found there, or what may be a secret that was
set by mistake. The environment itself is read by `load`.
"""

import os
import selectors
import shlex
import signal
import stat
import subprocess
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from lake_assets.errors import SettingsError

_FILE, _COMMAND = "_FILE", "_COMMAND"

_MOST_BYTES = 1024 * 1024
"""Of a value: as much as a Kubernetes secret may have."""

_LASTS_S = 30.0
"""Seconds a command may take. A cloud's own client needs two; Dagster waits for what imports us."""

_KEPT_S = 60.0


def value_of(variables: Mapping[str, str], name: str) -> str | None:
    """What a variable says, itself or by one of the two; None if none of them is set.

    Raises:
        SettingsError: two of them are set, or the file or the command gives no value.
    """
    given = [each for each in (name, name + _FILE, name + _COMMAND) if variables.get(each)]
    if len(given) > 1:
        raise SettingsError(given[1], f"is set, and so is {given[0]}", "Unset one of them")
    if not given or given[0] == name:
        return variables.get(name)
    if given[0].endswith(_FILE):
        return _text(given[0], _content(given[0], Path(variables[given[0]])))
    return _text(given[0], _answer(given[0], variables[given[0]], time.monotonic() // _KEPT_S))


def _text(variable: str, content: bytes) -> str:
    """A value without the line's end that editors and commands leave behind it."""
    step = "Correct the file" if variable.endswith(_FILE) else "Correct the command"
    if len(content) > _MOST_BYTES:
        raise SettingsError(variable, f"gives more than {_MOST_BYTES:,} bytes", step)
    try:
        text = content.decode("utf-8-sig")  # editors of Windows begin a file with a mark
    except UnicodeDecodeError:
        # Not as its cause, which has the content.
        raise SettingsError(variable, "gives something that is no text in UTF-8", step) from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text or "\0" in text:
        fact = "has a zero byte in what it gives" if text else "gives nothing"
        raise SettingsError(variable, fact, step)
    return text


def _content(variable: str, path: Path) -> bytes:
    try:
        # Nobody may ever write into a pipe: that is refused, and not waited for.
        descriptor = os.open(path.expanduser(), os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return file.read(_MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no path"
        fact = f"names a file that cannot be read ({why})"
        raise SettingsError(variable, fact, "Correct the variable, or the file") from None
    raise SettingsError(variable, "names something that is no file", "Correct the variable")


@lru_cache(maxsize=256)
def _answer(variable: str, line: str, _: float) -> bytes:
    """What a command says, within a period of time."""
    step = "Try it in a shell, as the same user"
    try:
        words = shlex.split(line)
    except ValueError:
        raise SettingsError(variable, "has a quote that is not closed", "Correct it") from None
    if not words:
        raise SettingsError(variable, "names no command", "Correct the variable")
    try:
        code, output = _run(words)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no command"
        raise SettingsError(
            variable, f"names a command that cannot be started ({why})", step
        ) from None
    if code is None:
        fact = f"{words[0]} has not ended within {_LASTS_S:.0f} s"
        raise SettingsError(variable, fact, step)
    if code and len(output) <= _MOST_BYTES:
        how = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
        raise SettingsError(variable, f"{words[0]} {how}", step)
    return output


def _run(words: list[str]) -> tuple[int | None, bytes]:
    """A command's exit code, if it ended in time, and what it said, up to a little too much.

    What it says to standard error is dropped: it may be the secret.
    """
    until = time.monotonic() + _LASTS_S
    process = subprocess.Popen(  # noqa: S603 - what the user set, without a shell
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            output = _read(process.stdout.fileno(), until)
            if len(output) > _MOST_BYTES:
                _end(process)
            return process.wait(max(0.0, until - time.monotonic())), output
        except subprocess.TimeoutExpired:
            return None, b""
        finally:
            if process.returncode is None:
                _end(process)


def _read(pipe: int, until: float) -> bytes:
    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(output) <= _MOST_BYTES:
            if not selector.select(max(0.0, until - time.monotonic())):
                raise subprocess.TimeoutExpired("", _LASTS_S)
            piece = os.read(pipe, 64 * 1024)
            if not piece:
                break
            output += piece
    return output


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End it and all that it started; nobody has waited for it yet, so its id is still its own."""
    os.killpg(process.pid, signal.SIGKILL)
