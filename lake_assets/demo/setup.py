"""What both demos do first: pick the feeds, with the asked-for games, and have services up."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console

from lake_assets.errors import SettingsError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import is_key_name
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.services import control
from lake_assets.services.feed_topics import create_topics
from lake_assets.settings.schema import Settings
from lake_assets.simulator.script import Script

FEED = "games"

SIMULATED = ("games", "fitness")
"""The shipped feeds, which have simulators."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a user may ask of a demo."""

    games: tuple[str, ...] = ()
    """Games to produce; the feed's keys if empty."""

    versions: int = 2
    """Schema versions that come up during the run; each adds a column."""

    events: int | None = None
    """Of each feed; None goes on until stopped."""

    rate: float | None = None
    """Events a second of each feed; None is as fast as possible."""

    seed: int = 0

    @property
    def script(self) -> Script:
        """How much each simulator sends, and when."""
        return Script(versions=self.versions, events=self.events, rate=self.rate)


def demo_feeds(settings: Settings, games: Sequence[str]) -> tuple[Settings, tuple[Feed, ...]]:
    """The feeds of the demo, games first, and settings under which every process sees the same.

    Asked-for games become the route's keys, in a copy of the feeds below the home: a demo shows
    tables of the games it produces.

    Raises:
        SettingsError: a name cannot name a table.
        FeedError: a feed cannot be used, or there is none called `games`.
    """
    feeds = load_feeds(settings.feeds)
    feed = find_feed(feeds, FEED)
    others = tuple(other for other in feeds if other.feed in SIMULATED and other is not feed)
    if not games or tuple(games) == feed.keys:
        return settings, (feed, *others)
    for game in games:
        if not is_key_name(game):
            raise SettingsError(
                "--key",
                f"{game!r} cannot name a table",
                "Use 1 to 64 lower-case letters, digits and _",
            )
    route = feed.route.model_copy(update={"keys": tuple(games)}) if feed.route else None
    feeds = (feed.model_copy(update={"route": route}), *others)
    feeds = tuple(one.beside(feeds) for one in feeds)
    folder = settings.home / "demo-feeds"
    for demo_feed in feeds:
        declared = demo_feed.model_dump(mode="json", exclude_none=True, by_alias=True)
        replace_text(folder / f"{demo_feed.feed}.yaml", yaml.safe_dump(declared, sort_keys=False))
    _remove_others(folder, {demo_feed.feed for demo_feed in feeds})
    return settings.model_copy(update={"feeds": folder}), feeds


def _remove_others(folder: Path, names: Collection[str]) -> None:
    """Remove feeds that an earlier demo had, from the folder that holds just the demo's."""
    for file in folder.glob("*.y*ml"):
        if file.name not in {f"{name}.yaml" for name in names}:
            file.unlink(missing_ok=True)


@contextmanager
def services_up(settings: Settings, console: Console) -> Iterator[Endpoints]:
    """Broker and registry for the demo; those that ran before it go on after it.

    Raises:
        ServiceError: one does not start.
    """
    feeds = load_feeds(settings.feeds)
    before = control.status(settings)
    needed = [before.kafka, *([before.registry] if control.needs_registry(feeds) else [])]
    running = {control.State.RUNNING, control.State.YOURS}
    was_running = all(service.state in running for service in needed)
    try:
        endpoints = control.up(settings, feeds, console=console)
        create_topics(settings, endpoints, feeds)
        yield endpoints
    finally:
        if not was_running:
            control.down(settings)
