"""How long a scheduled refresh takes in `dagster dev`: from its tick to the rows in gold.

The streams run as the supervisor of `dagster dev` runs them. A view is refreshed each minute by its
schedule alone; a tick's way begins with the full minute, and ends with the last commit of gold that
its run made.
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.landed import commits_of
from benchmarks.section import Figure, Section
from benchmarks.streaming import LOOK_EVERY_S, PATIENCE_S, send_events, with_feed
from benchmarks.topic import delete_topic, feed_of, keys_of
from benchmarks.venue import Venue
from lake_assets.demo.dagster_dev import dagster_dev
from lake_assets.errors import StreamError
from lake_assets.settings.schema import Settings

SCHEDULED = "scheduled"

_VIEW = "player_agg"
"""Of the feed that ships: the one that is refreshed each minute."""

_MINUTE_S = 60.0

_RATE = 200
"""Events a second: each game has some between two ticks."""

_TICKS = 5
"""Minutes that count. The first one, whose run makes all tables, counts if there are no more."""


def measure_scheduled(venue: Venue) -> Section:
    """Run `dagster dev` for some minutes, and see how long after each one gold has its rows.

    Raises:
        StreamError: gold is not refreshed.
        ServiceError: `dagster dev` does not come up.
    """
    ticks = _TICKS if venue.options.warm_up else 0
    rows: list[dict[str, Figure]] = []
    for tables in venue.options.tables:
        ways = _measure(venue, venue.lake(), tables, ticks)
        rows.append(
            {
                "tables": tables,
                "median_s": round(median(ways), 1),
                "longest_s": round(max(ways), 1),
                "ticks": len(ways),
            }
        )
        venue.announce(f"{SCHEDULED}: {rows[-1]}")
    return Section(
        name=SCHEDULED,
        keys=("tables",),
        rows=rows,
        note=f"`{_VIEW}` each minute by its schedule, {_RATE} events/s meanwhile; `dagster dev`, "
        "its streams, broker and producer share the machine",
    )


def _measure(venue: Venue, settings: Settings, tables: int, ticks: int) -> list[float]:
    shipped = feed_of(f"bench-scheduled-{settings.lake_dir.name[:8]}", keys_of(tables))
    views = [view for view in shipped.gold if view.name == _VIEW]
    by_schedule = [
        view.model_copy(update={"refresh": None, "schedule": "* * * * *"}) for view in views
    ]
    feed = shipped.model_copy(update={"gold": tuple(by_schedule)})
    send = partial(send_events, venue, feed)
    folders = [
        settings.lake_dir / feed.gold_table(by_schedule[0], key).relative for key in feed.keys
    ]
    try:
        with dagster_dev(with_feed(settings, feed)):
            send(1.0, 1000.0)
            _await_first(folders)
            began = 0.0
            if ticks:
                send(_MINUTE_S - time.time() % _MINUTE_S, _RATE)
                began = time.time()
                send(ticks * _MINUTE_S, _RATE)
            ended = time.time()
    finally:
        delete_topic(venue.endpoints, feed.source.topics.names[0], feed.payload.subject)
    return ways_of(_committed_at(folders), began, ended)


def ways_of(commits: Sequence[float], began: float, ended: float) -> list[float]:
    """Seconds from each full minute to the last commit in it, of minutes that have one."""
    last: dict[float, float] = {}
    for at in commits:
        if began <= at < ended:
            minute = at - at % _MINUTE_S
            last[minute] = max(last.get(minute, 0.0), at - minute)
    return list(last.values())


def _committed_at(folders: Sequence[Path]) -> list[float]:
    return [commit.stat().st_mtime for table in folders for commit in commits_of(table)]


def _await_first(folders: Sequence[Path]) -> None:
    """Wait until each table of gold is there and has been refreshed once."""
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not all(len(commits_of(table)) > 1 for table in folders):
        if time.monotonic() > deadline:
            fact = f"gold was not refreshed within {2 * PATIENCE_S:.0f} s"
            raise StreamError(f"bench: {SCHEDULED}", fact, "See dagster-dev.log in its home")
        time.sleep(LOOK_EVERY_S)
