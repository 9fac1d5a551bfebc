"""How long an event is on its way: from its production to the commit that makes it visible.

The streams run as `lake-assets stream` runs them, in a process of its own and with the settings as
they are: without gold, with a live view of each game, and with that beside a slow one, a free
query that reads all games anew each time. An event's way begins with its Kafka timestamp, which the
producer sets. It ends with the moment when its silver table's commit appeared in the log; and once
more with that of the first commit of the live view that stands for it.
"""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.landed import added_by, commits_of, info_of
from benchmarks.section import Figure, Section
from benchmarks.streaming import (
    LOOK_EVERY_S,
    PATIENCE_S,
    Arrivals,
    running_streams,
    send_events,
    silver_folders,
)
from benchmarks.topic import delete_topic, feed_of, keys_of
from benchmarks.venue import Options, Venue
from lake_assets.delta.refresh_position import SILVER_VERSION
from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import EVERY_KEY
from lake_assets.settings.schema import Settings

LATENCY = "latency"

_WARM_UP_S = 20.0
"""Seconds at the rate before what counts: the JVM compiles, and Python's workers start."""

_AT = "_kafka_timestamp"

_SHARES = {"p50_s": 50, "p99_s": 99}

_LIVE = "player_agg"
"""Of the feed that ships: the view whose commits an event's way to gold ends with."""

_SLOW = "suspicious_players"
"""Of the feed that ships: its free query over all games, here as often as it can be."""

_VIEWS = {"none": (), "live": (_LIVE,), "live, slow": (_LIVE, _SLOW)}


def measure_latency(venue: Venue) -> Section:
    """Send events at each rate and see when they arrive, with up to 100 games.

    Raises:
        StreamError: the streams ended, or do not keep up.
    """
    options = venue.options
    rows: list[dict[str, Figure]] = []
    for rate, (views, names) in product(options.rates, _VIEWS.items()):
        name = f"{LATENCY}: {rate:,} events/s, views: {views}"
        venue.announce(f"{name}, for {options.seconds:.0f} s …")
        measured = _measure(venue, venue.lake(), rate, names)
        rows.append({"rate": rate, "views": views, **measured})
        venue.announce(f"{name}: p50 {measured['p50_s']} s, of gold {measured.get('gold_p50_s')} s")
    return Section(
        name=LATENCY,
        keys=("rate", "views"),
        rows=rows,
        note=f"{options.some_tables} games, {options.seconds:.0f} s after "
        f"{_warm_up_s(options):.0f} s of warm-up, broker, producer and streams on this machine",
    )


def _measure(
    venue: Venue, settings: Settings, rate: int, views: Sequence[str]
) -> dict[str, Figure]:
    options = venue.options
    shipped = feed_of(f"bench-latency-{settings.lake_dir.name[:8]}", keys_of(options.some_tables))
    always = {"refresh": timedelta(0), "schedule": None}
    gold = tuple(view.model_copy(update=always) for view in shipped.gold if view.name in views)
    feed = shipped.model_copy(update={"gold": gold})
    topic, subject = feed.source.topics.names[0], feed.payload.subject

    send = partial(send_events, venue, feed)
    try:
        with running_streams(settings, feed) as process:
            arrivals = Arrivals(silver_folders(settings, feed), process)
            sent = send(1.0, 100.0)  # all versions come up, and all columns, before what counts
            arrivals.wait_for(sent)
            sent += send(_warm_up_s(options), rate)
            began = time.time()
            counted = send(options.seconds, rate)
            ended = time.time()
            arrivals.wait_for(sent + counted)
            _await_gold(settings, feed, process)
    finally:
        delete_topic(venue.endpoints, topic, subject)
    ways = _ways(settings, feed, began, ended)
    figures = {name: _percentile(ways.silver, q) for name, q in _SHARES.items()}
    if gold:
        figures |= {f"gold_{name}": _percentile(ways.gold, q) for name, q in _SHARES.items()}
        figures["slow_refreshes"] = _slow_refreshes(settings, feed, began, ended)
    sent_a_second = round(counted / (ended - began))
    return {**figures, "events": len(ways.silver), "sent_a_second": sent_a_second}


def _percentile(seconds: NDArray[np.float64], share: int) -> float:
    return round(float(np.percentile(seconds, share)), 3)


def _warm_up_s(options: Options) -> float:
    return _WARM_UP_S if options.warm_up else 1.0


def _gold_commits(settings: Settings, feed: Feed, game: str) -> list[tuple[int, float]]:
    """The version of silver that each commit of a game's live view stands for, and its time."""
    found = []
    for view in (view for view in feed.gold if view.name == _LIVE):
        for commit in commits_of(settings.lake_dir / feed.gold_table(view, game).relative):
            version = info_of(commit).get(SILVER_VERSION)
            if version is not None:
                found.append((int(version), commit.stat().st_mtime))
    return found


def _slow_refreshes(settings: Settings, feed: Feed, began: float, ended: float) -> int:
    """How often the slow view was refreshed in the time given."""
    tables = [feed.gold_table(view, EVERY_KEY) for view in feed.gold if view.name == _SLOW]
    commits = [at for table in tables for at in commits_of(settings.lake_dir / table.relative)]
    return sum(began <= commit.stat().st_mtime < ended for commit in commits)


def _await_gold(settings: Settings, feed: Feed, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the live view of each game stands for all of its silver.

    Raises:
        StreamError: it does not come so far.
    """
    deadline = time.monotonic() + PATIENCE_S
    behind = set(feed.keys) if feed.gold else set()
    while behind:
        for game in list(behind):
            silver = commits_of(settings.lake_dir / feed.silver_table(game).relative)
            gold = _gold_commits(settings, feed, game)
            if not silver or (gold and gold[-1][0] >= int(silver[-1].stem)):
                behind.discard(game)
        if behind and (process.poll() is not None or time.monotonic() > deadline):
            fact = f"gold of {len(behind)} games is behind"
            raise StreamError(f"bench: {LATENCY}", fact, "Use a lower rate")
        time.sleep(LOOK_EVERY_S)


@dataclass(frozen=True, slots=True)
class _Ways:
    """Seconds that events were on their way."""

    silver: NDArray[np.float64]
    gold: NDArray[np.float64]
    """To the live view; empty without one."""


def _ways(settings: Settings, feed: Feed, began: float, ended: float) -> _Ways:
    """The way of each event that was produced in the time given."""
    to_silver, to_gold = [np.empty(0)], [np.empty(0)]
    for game, table in zip(feed.keys, silver_folders(settings, feed), strict=True):
        gold = _gold_commits(settings, feed, game)
        for commit in commits_of(table):
            in_gold = [at for version, at in gold if version >= int(commit.stem)]
            for path in added_by(commit):
                at = pq.read_table(table / path, columns=[_AT], partitioning=None)[_AT].cast(
                    pa.timestamp("us")
                )
                sent = at.cast(pa.int64()).to_numpy() / 1e6
                counted = sent[(sent >= began) & (sent < ended)]
                to_silver.append(commit.stat().st_mtime - counted)
                to_gold += [min(in_gold) - counted] if in_gold else []
    return _Ways(np.concatenate(to_silver), np.concatenate(to_gold))
