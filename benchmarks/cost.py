"""What running streams cost at a steady rate and idle: processor time, memory, files, bytes.

One `lake-assets stream` a number of tables runs through the rates one after the other, each for a
while: first until Java has compiled what it will, then the rates asked for, then nothing at all.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep, time
from typing import TypeAlias

import psutil

from benchmarks.landed import written_between
from benchmarks.memory import held_by
from benchmarks.section import Figure, Section
from benchmarks.streaming import Arrivals, running_streams, send_events, silver_folders
from benchmarks.topic import delete_topic, feed_of, keys_of
from benchmarks.venue import Venue

COST = "cost"

_WARM_UP_S = 300.0
"""Seconds at the first rate before what counts: it is the sixth minute then."""

_SETTLE_S = 5.0
"""Seconds of a new rate before what counts."""

_IDLE = 0
"""The rate at which nothing is sent."""


_Kinds: TypeAlias = dict[tuple[str, int, float], float]
"""Processor seconds by kind, pid and start of each process."""


def cpu_times_of(pid: int) -> _Kinds:
    """What a process and all below it have used since they began."""
    spent: _Kinds = {}
    top = psutil.Process(pid)
    for process in [top, *top.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times, is_jvm = process.cpu_times(), process.name() == "java"
            kind = "driver" if process.pid == pid else "jvm" if is_jvm else "workers"
            own = times.user + times.system
            # Programs that Hadoop starts, such as `chmod`, have ended before anybody looks.
            own += times.children_user + times.children_system if is_jvm else 0.0
            spent[kind, process.pid, process.create_time()] = own
    return spent


def shares_of(before: _Kinds, after: _Kinds, seconds: float) -> dict[str, float]:
    """Percent of a core by kind of process, and of all; what ended meanwhile is left out."""
    shares = dict.fromkeys(("jvm", "workers", "driver"), 0.0)
    for process, spent in after.items():
        shares[process[0]] += 100 * (spent - before.get(process, 0.0)) / seconds
    shares = {"core": sum(shares.values()), **shares}
    return {name: round(share, 1) for name, share in shares.items()}


def measure_cost(venue: Venue) -> Section:
    """Run the streams at each rate and idle, into each number of tables.

    Raises:
        StreamError: the streams ended, or do not keep up.
    """
    options = venue.options
    rows: list[dict[str, Figure]] = []
    for tables in options.tables:
        rows += _measure(venue, tables)
    return Section(
        name=COST,
        keys=("tables", "rate"),
        rows=rows,
        note=f"percent of a core over {options.seconds:.0f} s, after {_warm_up_s(venue):.0f} s at "
        f"{max(options.rates):,} events/s; a trigger of {venue.settings.stream.trigger_s:g} s, no "
        "gold; megabytes of memory; commits, files and megabytes that came to tables a second; "
        "broker and producer, which are not in it, share the machine",
    )


def _warm_up_s(venue: Venue) -> float:
    return _WARM_UP_S if venue.options.warm_up else 1.0


def _measure(venue: Venue, tables: int) -> list[dict[str, Figure]]:
    settings = venue.lake()
    shipped = feed_of(f"bench-cost-{settings.lake_dir.name[:8]}", keys_of(tables))
    feed = shipped.model_copy(update={"gold": ()})
    send = partial(send_events, venue, feed)
    rates = sorted(venue.options.rates, reverse=True)
    rows: list[dict[str, Figure]] = []
    try:
        with running_streams(settings, feed) as process:
            arrivals = Arrivals(silver_folders(settings, feed), process)
            sent = send(1.0, 100.0)  # all versions come up, and all columns, before what counts
            arrivals.wait_for(sent)
            sent += send(_warm_up_s(venue), rates[0])
            for rate in [*rates, _IDLE]:
                sent += _load(send, _SETTLE_S, rate)
                if not rate:
                    arrivals.wait_for(sent)
                before, began, since = cpu_times_of(process.pid), monotonic(), time()
                sent += _load(send, venue.options.seconds, rate)
                seconds = monotonic() - began
                figures: dict[str, Figure] = {
                    **shares_of(before, cpu_times_of(process.pid), seconds),
                    "memory_mb": round(held_by(process.pid) / 1e6),
                    **_written(settings.lake_dir, since, seconds),
                }
                rows.append({"tables": tables, "rate": rate, **figures})
                venue.announce(f"{COST}: {rows[-1]}")
            arrivals.wait_for(sent)
    finally:
        delete_topic(venue.endpoints, feed.source.topics.names[0], feed.payload.subject)
    return rows


def _written(lake: Path, since: float, seconds: float) -> dict[str, float]:
    """What came to the lake's tables a second, the logs of the streams among them."""
    written = written_between(lake, since, since + seconds)
    return {
        "commits_s": round(written.commits / seconds, 1),
        "files_s": round(written.files / seconds, 1),
        "mb_s": round(written.size_bytes / seconds / 1e6, 3),
    }


def _load(send: Callable[[float, float], int], seconds: float, rate: int) -> int:
    """Send at a rate for so long, or wait as long; the events that were sent."""
    if rate:
        return send(seconds, rate)
    sleep(seconds)
    return 0
