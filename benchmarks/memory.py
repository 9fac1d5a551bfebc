"""How much memory each peer takes at most: its driver's whole process tree, each in a fresh one."""

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil

from benchmarks.peers import MEASURES, USUAL, Peer, who_runs
from benchmarks.section import Figure, Section
from benchmarks.topic import Topic, topic_of
from benchmarks.venue import Venue
from lake_assets.errors import StreamError
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings

MEMORY = "memory"

_EVERY_S = 0.25
"""Seconds between two looks; a look at a JVM takes some milliseconds."""

_AT_MOST_S = 60.0
"""Seconds that a peer is watched, its start included. Those that take longer do the same thing
again and again by then."""


@dataclass(frozen=True, slots=True)
class Peak:
    """What was seen of a process tree."""

    total_bytes: int
    jvm_bytes: int
    """Of the JVMs, at the moment of the peak; the rest is Python's."""

    is_whole: bool
    """Whether it was watched to its end."""


def measure_memory(venue: Venue) -> Section:
    """Run each asked-for peer once for its memory, into up to 100 tables."""
    options, tables = venue.options, venue.options.some_tables
    names = [name for name in options.only if name in MEASURES] or USUAL
    peers, _ = who_runs(names, tables)
    rows: list[dict[str, Figure]] = []
    with topic_of(venue.endpoints, tables=tables, events=options.events, stop=venue.stop) as topic:
        for peer in peers:
            peak = _watch(venue, topic, peer, venue.lake())
            if venue.stop():
                raise KeyboardInterrupt
            rows.append(
                {
                    "peer": peer.name,
                    "tables": 1 if peer.name == "floor" else tables,
                    "peak_mb": round(peak.total_bytes / 1e6),
                    "jvm_mb": round(peak.jvm_bytes / 1e6),
                    "watched": "to its end" if peak.is_whole else f"{_AT_MOST_S:.0f} s",
                }
            )
            venue.announce(f"{MEMORY}: {peer.name} {peak.total_bytes / 1e6:,.0f} MB")
    return Section(
        name=MEMORY,
        keys=("peer",),
        rows=rows,
        note="proportional set size of the driver's process tree: Python, JVM and workers",
    )


def _watch(venue: Venue, topic: Topic, peer: Peer, settings: Settings) -> Peak:
    given = {
        "peer": peer.name,
        "endpoints": {"kafka": venue.endpoints.kafka, "registry": venue.endpoints.registry},
        "feed": topic.feed.model_dump(mode="json"),
        "by_game": dict(topic.by_game),
    }
    log = settings.home / "alone.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.alone"],
            env={**child_environment(settings), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.write(json.dumps(given))
            process.stdin.close()
            peak = watch(process.pid, _AT_MOST_S)
        finally:
            _end(process.pid)
    if peak.is_whole and process.returncode:
        last_lines = log.read_text().splitlines()[-1:] or ["it left no message"]
        raise StreamError(f"bench: {MEMORY} of {peer.name}", last_lines[0][:300], "Leave it out")
    return peak


def watch(pid: int, at_most_s: float) -> Peak:
    """The peak of a process and all below it, until it ends or the time is over."""
    deadline = time.monotonic() + at_most_s
    peak = Peak(0, 0, is_whole=False)
    while time.monotonic() < deadline:
        sizes = [entry for process in _tree(pid) if (entry := _held(process)) is not None]
        if not sizes:
            return Peak(peak.total_bytes, peak.jvm_bytes, is_whole=True)
        total = sum(size for _, size in sizes)
        if total > peak.total_bytes:
            jvm = sum(size for name, size in sizes if name == "java")
            peak = Peak(total, jvm, is_whole=False)
        time.sleep(_EVERY_S)
    return peak


def _tree(pid: int) -> list[psutil.Process]:
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _held(process: psutil.Process) -> tuple[str, int] | None:
    """Name and bytes of a process; None of one that is gone.

    Forked workers share most of their pages. Linux tells each one's share; where that is not to be
    had, they count as if each had all of them.
    """
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        info = process.memory_full_info()
        return process.name(), getattr(info, "pss", info.rss)
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return None


def held_by(pid: int) -> int:
    """Bytes that a process and all below it hold now."""
    return sum(held[1] for process in _tree(pid) if (held := _held(process)) is not None)


def _end(pid: int) -> None:
    """End a process and all below it."""
    left = _tree(pid)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=10)
