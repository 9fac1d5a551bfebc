"""`lake-assets stream` in a process of its own, fed at a rate, with the settings as they are.

Shared by the sections that watch streams while they run; what they measure is theirs.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks.landed import added_by, commits_of
from benchmarks.venue import Venue
from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script

PATIENCE_S = 180.0
"""Seconds until what was produced must be in silver, a session's start included."""

LOOK_EVERY_S = 1.0
"""Seconds between two looks at silver."""

_BENCH = "bench: streams"


def send_events(venue: Venue, feed: Feed, seconds: float, at: float) -> int:
    """Produce a feed's events, `at` a second; how many they were.

    Raises:
        KeyboardInterrupt: the benchmark was told to stop.
    """
    game_events = GameEvents(venue.endpoints, feed.payload.subject, feed.keys)
    script = Script(events=round(at * seconds), rate=at)
    topic = feed.source.topics.names[0]
    sent = produce(venue.endpoints, topic, game_events, script, stop=venue.stop).events
    if venue.stop():
        raise KeyboardInterrupt
    return sent


def with_feed(settings: Settings, feed: Feed) -> Settings:
    """The settings with a folder of feeds beside the lake, which has this one alone."""
    feeds = settings.lake_dir.parent / f"{settings.lake_dir.name}-feeds"
    feeds.mkdir(parents=True)
    (feeds / "games.yaml").write_text(yaml.safe_dump(feed.model_dump(mode="json")))
    return settings.model_copy(update={"feeds": feeds})


@contextmanager
def running_streams(settings: Settings, feed: Feed) -> Iterator["subprocess.Popen[bytes]"]:
    """`lake-assets stream` over one feed; it is asked to end, and must have ended well."""
    own = with_feed(settings, feed)
    log = settings.lake_dir.parent / f"{settings.lake_dir.name}-streams.log"
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
            process.wait(PATIENCE_S)
    if process.returncode:
        last = log.read_text().strip().splitlines()[-1:] or ["they left no message"]
        raise StreamError(_BENCH, f"the streams failed: {last[0][:300]}", "Repair it")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What is in silver; each commit is read once, so that looking costs the streams little."""

    tables: Sequence[Path]
    process: "subprocess.Popen[bytes]"
    rows_by_commit: dict[Path, int] = field(default_factory=dict)

    def wait_for(self, rows: int) -> None:
        """Wait until silver has that many rows.

        Raises:
            StreamError: it does not get them.
        """
        deadline = time.monotonic() + PATIENCE_S
        while (have := self._count()) < rows:
            is_over = self.process.poll() is not None
            if is_over or time.monotonic() > deadline:
                when = "the streams ended" if is_over else f"{PATIENCE_S:.0f} s have passed"
                fact = f"{have:,} of {rows:,} events are in silver, and {when}"
                raise StreamError(_BENCH, fact, "Use a lower rate")
            time.sleep(LOOK_EVERY_S)

    def _count(self) -> int:
        for table in self.tables:
            for commit in commits_of(table):
                if commit not in self.rows_by_commit:
                    self.rows_by_commit[commit] = sum(added_by(commit).values())
        return sum(self.rows_by_commit.values())


def silver_folders(settings: Settings, feed: Feed) -> list[Path]:
    """The folders of a feed's silver tables, in the order of its keys."""
    return [settings.lake_dir / feed.silver_table(game).relative for game in feed.keys]
