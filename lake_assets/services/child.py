"""Child processes that outlive the shell that started them, and are known again by others.

A process is ours if its id and a mark on its command line fit.
"""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import find_process, process_of

# The child of this shell belongs to nobody afterwards, so the system's first process reaps it.
_LAUNCH = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'


def mark(folder: Path) -> str:
    """The word on a service's command line that names its folder; a Java ignores it."""
    return f"-Dlake_assets.service={folder.resolve()}"


def launch(command: list[str], folder: Path, log: Path) -> ProcessId | None:
    """Start `command` in `folder`, in a session of its own, with its output in `log`.

    Returns:
        The process, or None if it ended at once.
    """
    if log.exists():
        log.replace(log.with_suffix(".previous.log"))
    executable, *arguments = command
    shell = subprocess.run(  # noqa: S603 our own command line
        ["/bin/sh", "-c", _LAUNCH, "sh", str(log), executable, mark(folder), *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=True,
    )
    return process_of(int(shell.stdout))


def find(child: ProcessId, folder: Path) -> psutil.Process | None:
    """The running process of `child`, if it still runs and is the same."""
    with suppress(psutil.Error):
        process = find_process(child)
        if process and _is_marked(process, folder):
            return process
    return None


def find_all(folder: Path) -> Iterator[psutil.Process]:
    """Every running process with the mark of `folder`, recorded or not."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if _is_marked(process, folder):
                yield process


def stop(process: psutil.Process, *, patience_s: float = 10.0) -> None:
    """Ask a process to end, then end it; returns when it is gone."""
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        if not is_gone(process, within_s=patience_s):
            process.kill()
            is_gone(process, within_s=patience_s)


def is_gone(process: psutil.Process, *, within_s: float) -> bool:
    """Wait for a process to end. One that ended and was not reaped holds nothing any more."""

    def runs() -> bool:
        with suppress(psutil.NoSuchProcess):
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        return False

    retrying = Retrying(
        retry=retry_if_result(bool), wait=wait_fixed(0.05), stop=stop_after_delay(within_s)
    )
    try:
        retrying(runs)
    except RetryError:
        return False
    return True


def last_words(log: Path) -> str:
    """The last line of a log that says something, for an error message."""
    with suppress(OSError):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        messages = [line for line in lines if line and not line.startswith(("at ", "... "))]
        causes = [line for line in messages if "ERROR" in line or "Exception" in line]
        if messages:
            return (causes or messages)[-1][:300]
    return "it left no message"


def _is_marked(process: psutil.Process, folder: Path) -> bool:
    return process.status() != psutil.STATUS_ZOMBIE and mark(folder) in process.cmdline()
