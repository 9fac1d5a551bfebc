"""The command line: in a child process, as a shell runs it, or in this one."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.command import app as bench_app
from lake_assets.cli.main import run, run_app
from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets_tests import spark_sessions

COMMAND = command_line()


def lake_assets(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `lake-assets` to its end with these settings."""
    return subprocess.run(  # noqa: S603 - our own command line
        [*COMMAND, *arguments],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )


def lake_assets_here(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As `lake_assets`, in this process, whose JVM is warm: a cold one costs 15 s of CPU.

    It finds the session of the last one, unless it is to start with other properties.
    """
    return _with_spark(settings, lambda: sparkless_here(settings, *arguments))


def benchmarks_here(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m benchmarks` in this process, as `lake_assets_here`."""
    return _with_spark(
        settings,
        lambda: _in_this_process(settings, lambda: run_app(bench_app), "benchmarks", *arguments),
    )


def sparkless_here(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As `lake_assets`, in this process, which has imported all: for commands without Spark."""
    return _in_this_process(settings, run, "lake-assets", *arguments)


def in_a_terminal(settings: Settings, *arguments: str, typed: str = "") -> tuple[int, str]:
    """Run `lake-assets` where a person sits who types that; its exit code, and all it printed."""
    ours, its = pty.openpty()
    with subprocess.Popen(  # noqa: S603 - our own command line
        [*COMMAND, *arguments],
        env={**child_environment(settings), "TERM": "xterm", "COLUMNS": "200"},
        stdin=its,
        stdout=its,
        stderr=its,
    ) as process:
        os.close(its)
        os.write(ours, typed.encode())
        printed = b""
        with suppress(OSError):  # which Linux says where the other end is closed
            while part := os.read(ours, 65536):
                printed += part
        code = process.wait()
    os.close(ours)
    return code, printed.decode()


def answer_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The object that a command with `--json` printed last."""
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def result_of(done: subprocess.CompletedProcess[str]) -> Any:
    """What a command with `--json` told."""
    return answer_of(done)["result"]


def _with_spark(
    settings: Settings, act: Callable[[], subprocess.CompletedProcess[str]]
) -> subprocess.CompletedProcess[str]:
    spark_sessions.stop_another(settings)
    done = act()
    if session := SparkSession.getActiveSession():
        spark_sessions.note_properties(session, settings)
    return done


def _in_this_process(
    settings: Settings, main: Callable[[], None], program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    out, err = io.StringIO(), io.StringIO()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    kept = {number: signal.getsignal(number) for number in numbers}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in child_environment(settings).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", [program, *arguments])
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())
