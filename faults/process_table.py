"""Which processes a run of the suite has started, at whatever remove, and what part each plays.

A process is ours if its environment has the run's mark, which children inherit; what it is, its
command line says, and what it belongs to, a second mark.
"""

import os
import re
import signal
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

RUN, PART = "FAULTS_RUN", "FAULTS_PART"
"""Variables: of which run of the suite a process is, and of which part of it."""

WORK = "work"
"""The part that is done beside the streams and that no fault is aimed at."""

SERVER = "server"
"""The part that streams talk to, and the load; it ends after them."""

_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("jvm", re.compile(r"org\.apache\.spark\.deploy\.SparkSubmit")),
    ("spark master", re.compile(r"org\.apache\.spark\.deploy\.master\.Master")),
    ("spark worker", re.compile(r"org\.apache\.spark\.deploy\.worker\.Worker")),
    ("executor", re.compile(r"CoarseGrainedExecutorBackend")),
    ("broker", re.compile(r"kafka\.Kafka")),
    ("registry", re.compile(r"apicurio")),
    ("store", re.compile(r"s3proxy|\bweed\b")),
    ("python worker", re.compile(r"-m lake_assets\.spark\.daemon")),
    ("daemon", re.compile(r"dagster[.-]daemon.* run\b|dagster\._daemon run\b")),
    ("webserver", re.compile(r"dagster[_-]webserver")),
    # Not the shell above it, with whose end a container's processes all end.
    ("code server", re.compile(r"^(?!/bin/sh ).*dagster api grpc")),
)


@dataclass(frozen=True, slots=True)
class Started:
    """A process of the run."""

    pid: int
    parent: int
    part: str
    command: str


def started(run: str) -> list[Started]:
    """All that live, this process not among them; those that ended and were not reaped are over."""
    return [one for one in _marked(run) if one.pid != os.getpid()]


def _marked(run: str) -> Iterator[Started]:
    mark = f"{RUN}={run}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        # It may end at any moment; what is another user's is not ours.
        with suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            if mark not in variables:
                continue
            part = next((v for v in variables if v.startswith(f"{PART}=".encode())), b"=")
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            yield Started(int(folder.name), parent, part.partition(b"=")[2].decode(), words.strip())


def end_all(run: str) -> None:
    """Kill whatever lives of a run, at its end."""
    for one in started(run):
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)


def by_role(run: str) -> Mapping[str, list[int]]:
    """The pids by role; what is done beside the streams (`WORK`) is left out."""
    all_ = [one for one in started(run) if one.part != WORK]
    found: dict[str, list[int]] = defaultdict(list)
    for one in all_:
        role = role_of(one.command)
        if role is not None:
            found[role].append(one.pid)
    parents = {one.parent for one in all_ if role_of(one.command) == "jvm"}
    # Python that has a Spark: the command line's `stream`, or a run of Dagster's.
    found["stream"] = [one.pid for one in all_ if one.pid in parents]
    return found


def role_of(command: str) -> str | None:
    """What a command line is of; None of what no fault is aimed at by itself."""
    return next((role for role, pattern in _ROLES if pattern.search(command)), None)
