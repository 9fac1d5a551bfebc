"""What the doctor's looks at feeds' sources have alike: which feeds, and what a failed look tells.

What there is to tell of a kind of source, the modules of their kinds say.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from deltalake.exceptions import DeltaError

from lake_assets.errors import (
    FeedError,
    LakeError,
    SettingsError,
    SourceError,
    first_line,
)
from lake_assets.feeds.load import load_feeds
from lake_assets.model.sources import Source
from lake_assets.services.finding import Finding, Health, unreadable
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

ANSWER_S = 5.0
"""Seconds for an answer, for which a person waits."""

_Declared = TypeVar("_Declared")


def look_at_sources(
    settings: Settings,
    kind: str,
    declared_in: Callable[[Source], _Declared | None],
    look: Callable[[str, Store, str, _Declared], Iterable[Finding]],
) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere.

    Args:
        settings: where feeds and the lake are.
        kind: of the sources, as findings name them.
        declared_in: what a feed declares of such a source; None of another.
        look: tells of one, by its name in findings, the lake, the feed's name and what is declared.
            May raise SettingsError, SourceError, LakeError and DeltaError.
    """
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    for feed in feeds:
        declared = declared_in(feed.source)
        if declared is not None:
            thing = f"{kind} of feed {feed.feed!r}"
            yield from _told(thing, partial(look, thing, lake_of(settings), feed.feed, declared))


def _told(thing: str, look: Callable[[], Iterable[Finding]]) -> Iterable[Finding]:
    try:
        return list(look())
    except (SettingsError, SourceError, LakeError) as problem:
        fact = f"{problem.thing} {problem.fact}"
        return [replace(unreadable(thing, problem), fact=fact)]
    except DeltaError as problem:
        fix = "Check the lake's folder and its disk"
        return [Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)]
