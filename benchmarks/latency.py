"""How long an event is on its way: from its production to the commit that makes it visible.

The streams run as `lake-assets stream` runs them, in a process of its own and with the settings as
they are. An event's way begins with its Kafka timestamp, which the producer sets, and ends with
the moment when its silver table's commit appeared in the log.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray

from benchmarks.landed import added_by, commits_of
from benchmarks.section import Figure, Section
from benchmarks.topic import delete_topic, feed_of, keys_of
from benchmarks.venue import Options, Venue
from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script

LATENCY = "latency"

_WARM_UP_S = 20.0
"""Seconds at the rate before what counts: the JVM compiles, and Python's workers start."""

_PATIENCE_S = 180.0
"""Seconds until what was produced must be in silver, a session's start included."""

_LOOK_EVERY_S = 1.0
"""Seconds between two looks at silver."""

_AT = "_kafka_timestamp"

_SHARES = {"p50_s": 50, "p95_s": 95, "p99_s": 99, "max_s": 100}


def measure_latency(venue: Venue) -> Section:
    """Send events at each rate and see when they arrive, with up to 100 games.

    Raises:
        StreamError: the streams ended, or do not keep up.
    """
    options = venue.options
    rows: list[dict[str, Figure]] = []
    for rate in options.rates:
        venue.announce(f"{LATENCY}: {rate:,} events/s for {options.seconds:.0f} s …")
        rows.append({"rate": rate, **_measure(venue, venue.lake(), rate)})
        venue.announce(f"{LATENCY}: {rate:,} events/s: p50 {rows[-1]['p50_s']} s")
    return Section(
        name=LATENCY,
        keys=("rate",),
        rows=rows,
        note=f"{options.some_tables} games, {options.seconds:.0f} s after "
        f"{_warm_up_s(options):.0f} s of warm-up, broker, producer and streams on this machine",
    )


def _measure(venue: Venue, settings: Settings, rate: int) -> dict[str, Figure]:
    options = venue.options
    feed = feed_of(f"bench-latency-{settings.lake_dir.name[:8]}", keys_of(options.some_tables))
    topic, subject = feed.source.kafka.topic, feed.payload.subject

    def send(seconds: float, at: float) -> int:
        game_events = GameEvents(venue.endpoints, subject, feed.keys)
        script = Script(events=round(at * seconds), rate=at)
        sent = produce(venue.endpoints, topic, game_events, script, stop=venue.stop).events
        if venue.stop():
            raise KeyboardInterrupt
        return sent

    try:
        with _streams(settings, feed) as process:
            arrivals = _Arrivals(_silver(settings, feed), process)
            sent = send(1.0, 100.0)  # all versions come up, and all columns, before what counts
            arrivals.wait_for(sent)
            sent += send(_warm_up_s(options), rate)
            began = time.time()
            counted = send(options.seconds, rate)
            ended = time.time()
            arrivals.wait_for(sent + counted)
    finally:
        delete_topic(venue.endpoints, topic, subject)
    latencies = _seconds_of_all(settings, feed, began, ended)
    figures = {name: round(float(np.percentile(latencies, q)), 3) for name, q in _SHARES.items()}
    return {**figures, "events": len(latencies), "sent_a_second": round(counted / (ended - began))}


def _warm_up_s(options: Options) -> float:
    return _WARM_UP_S if options.warm_up else 1.0


@contextmanager
def _streams(settings: Settings, feed: Feed) -> Iterator["subprocess.Popen[bytes]"]:
    """`lake-assets stream` over one feed; it is asked to end, and must have ended well."""
    feeds = settings.lake_dir.parent / f"{settings.lake_dir.name}-feeds"
    feeds.mkdir(parents=True)
    (feeds / "games.yaml").write_text(yaml.safe_dump(feed.model_dump(mode="json")))
    log = feeds / "streams.log"
    own = settings.model_copy(update={"feeds": feeds})
    with (
        log.open("w") as output,
        subprocess.Popen(  # noqa: S603 - our own command line
            command_line("stream"),
            env=child_environment(own) | {"PYTHONPATH": ":".join(filter(None, sys.path))},
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_PATIENCE_S)
    if process.returncode:
        last = log.read_text().strip().splitlines()[-1:] or ["they left no message"]
        raise StreamError(f"bench: {LATENCY}", f"the streams failed: {last[0][:300]}", "Repair it")


@dataclass(frozen=True, slots=True)
class _Arrivals:
    """What is in silver; each commit is read once, so that looking costs the streams little."""

    tables: Sequence[Path]
    process: "subprocess.Popen[bytes]"
    rows_by_commit: dict[Path, int] = field(default_factory=dict)

    def wait_for(self, rows: int) -> None:
        """Wait until silver has that many rows.

        Raises:
            StreamError: it does not get them.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while (have := self._count()) < rows:
            is_over = self.process.poll() is not None
            if is_over or time.monotonic() > deadline:
                when = "the streams ended" if is_over else f"{_PATIENCE_S:.0f} s have passed"
                fact = f"{have:,} of {rows:,} events are in silver, and {when}"
                raise StreamError(f"bench: {LATENCY}", fact, "Use a lower rate")
            time.sleep(_LOOK_EVERY_S)

    def _count(self) -> int:
        for table in self.tables:
            for commit in commits_of(table):
                if commit not in self.rows_by_commit:
                    self.rows_by_commit[commit] = sum(added_by(commit).values())
        return sum(self.rows_by_commit.values())


def _silver(settings: Settings, feed: Feed) -> list[Path]:
    return [settings.lake_dir / feed.silver_table(game).relative for game in feed.keys]


def _seconds_of_all(
    settings: Settings, feed: Feed, began: float, ended: float
) -> NDArray[np.float64]:
    """The way of each event that was produced in the time given, in seconds."""
    latencies = []
    for table in _silver(settings, feed):
        for commit in commits_of(table):
            visible_at = commit.stat().st_mtime
            for path in added_by(commit):
                at = pq.read_table(table / path, columns=[_AT], partitioning=None)[_AT].cast(
                    pa.timestamp("us")
                )
                sent = at.cast(pa.int64()).to_numpy() / 1e6
                counts = (sent >= began) & (sent < ended)
                latencies.append(visible_at - sent[counts])
    return np.concatenate(latencies)
