"""Looking at what forecasts are made of: disk, offsets, retention, how long refreshes took.

`alerts.forecasts` judges it. What does not answer is left out: that it does not is another alert's.
"""

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import TypeVar

from lake_assets.alerts.forecast_samples import is_due, read_samples, write_samples
from lake_assets.alerts.forecasts import (
    Deletion,
    ForecastFacts,
    Horizon,
    Offsets,
    RefreshPace,
    Sample,
    Unread,
)
from lake_assets.delta.log_history import open_table, state_of
from lake_assets.errors import LakeAssetsError, SourceError
from lake_assets.logs.durations import recent_refreshes
from lake_assets.model.cron import next_tick
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import Place
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import deletions_of, source_of, unread_of
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.progress import ingested_offsets

_T = TypeVar("_T")

_PATIENCE_S = 3.0
"""Seconds for a source's answer: a sensor has 60 for all that it does."""

_REFRESHES = 3
"""Of a view, whose median counts: one slow refresh is no trend."""


def look_ahead(  # noqa: PLR0913 - what to look at, and the moment
    settings: Settings,
    feeds: Sequence[Feed],
    endpoints: Endpoints | None,
    every_s: Mapping[str, float],
    *,
    boot: str,
    now: float,
    utc_now: float,
) -> ForecastFacts | None:
    """The facts of a moment; None if it is not time for a look.

    Args:
        settings: where the lake is.
        feeds: what it has.
        endpoints: brokers; None if there are none to ask.
        every_s: by view (`feed.view`), seconds between the refreshes that are to come.
        boot: whose clock `now` is by.
        now: by the monotonic clock.
        utc_now: seconds since 1970.

    Raises:
        LakeError: the lake cannot be read.
    """
    before = read_samples(settings.state_dir, boot=boot, now=now)
    if not is_due(before, now):
        return None
    asked = {feed.feed: _offsets(settings, feed, endpoints) for feed in feeds if endpoints}
    offsets = {name: found for name, found in asked.items() if found}
    lake = settings.disk_dir.absolute()
    folder = next(place for place in (lake, *lake.parents) if place.exists())
    sample = Sample(
        at=now,
        boot=boot,
        free_bytes=shutil.disk_usage(folder).free,
        feeds={name: _texts(found) for name, found in offsets.items()},
        refreshes=_refreshes(settings, before[-1].refreshes if before else {}),
    )
    write_samples(settings.state_dir, [*before, sample])
    read_in_s = _read_in_s(settings, feeds, utc_now)
    unread = {feed.feed: found for feed in feeds if (found := _unread(settings, feed))}
    return ForecastFacts(
        utc_now=utc_now,
        samples=[*before, sample],
        deletions={
            feed.feed: _texts(
                _deletions(
                    settings,
                    feed,
                    endpoints,
                    offsets[feed.feed],
                    (utc_now, read_in_s.get(feed.feed)),
                )
            )
            for feed in feeds
            if endpoints and feed.feed in offsets
        },
        refreshes={
            view: RefreshPace(seconds=median(s for _, s in took), every_s=every_s[view])
            for view, took in sample.refreshes.items()
            if view in every_s
        },
        read_in_s=read_in_s,
        unread=unread,
    )


def _read_in_s(settings: Settings, feeds: Sequence[Feed], utc_now: float) -> dict[str, float]:
    """By feed with a schedule, as `ForecastFacts.read_in_s`."""
    now = datetime.fromtimestamp(utc_now, UTC)
    ticks = {
        feed.feed: next_tick(feed.schedule, now) for feed in feeds if feed.schedule is not None
    }
    return {
        feed: tick.timestamp() - utc_now + settings.alerts.refresh_grace_s
        for feed, tick in ticks.items()
        if tick is not None
    }


def _refreshes(
    settings: Settings, before: Mapping[str, Sequence[tuple[float, float]]]
) -> dict[str, list[tuple[float, float]]]:
    """The newest refreshes of each view, those among them that were seen before."""
    found = {
        f"{feed}.{view}": took for (feed, view), took in recent_refreshes(lake_of(settings)).items()
    }
    return {
        view: sorted({*map(tuple, before.get(view, ())), *found.get(view, ())})[-_REFRESHES:]
        for view in {*before, *found}
    }


def _offsets(settings: Settings, feed: Feed, endpoints: Endpoints) -> dict[Place, Offsets]:
    """Of a feed's source; empty if it does not answer, or bronze has nothing of it."""
    try:
        lake = lake_of(settings)
        reached, source = ingested_offsets(lake, feed), source_of(feed, endpoints, lake)
        extent = source.extent(timeout_s=_PATIENCE_S) if reached else None
    except LakeAssetsError:
        return {}
    if extent is None:
        return {}
    return {
        place: Offsets(begin=begin, reached=reached.get(place, begin), end=extent.ends[place])
        for place, begin in extent.begins.items()
    }


def _unread(settings: Settings, feed: Feed) -> Unread | None:
    """How long rows may have waited, by a source that tells that and answers."""
    try:
        found = unread_of(feed, lake_of(settings), within_s=_PATIENCE_S)
    except LakeAssetsError:
        return None
    return None if found is None else Unread(for_s=found[0], kept_s=found[1])


def _deletions(
    settings: Settings,
    feed: Feed,
    endpoints: Endpoints,
    offsets: Mapping[Place, Offsets],
    when: tuple[float, float | None],
) -> dict[Place, Deletion]:
    """What will be deleted; `when` is now, and in how many seconds a next run has read it."""
    utc_now, read_in_s = when
    ahead_s = settings.forecast.retention_hours * 3600
    if read_in_s is not None:
        ahead_s = min(ahead_s, read_in_s)

    def young_at(kept_s: float) -> float:
        return utc_now - kept_s + min(ahead_s, kept_s / 2)

    try:
        ends = {place: found.end for place, found in offsets.items()}
        found = deletions_of(feed, endpoints, ends=ends, young_at=young_at)
    except SourceError:
        return {}  # who may not read the settings goes by how rows went
    if found is None:
        return {}
    kept, young = found
    row_bytes = _row_bytes(settings, feed)
    sizes = {name: of_name.size_bytes for name, of_name in kept.items()}
    rows = {n: size / row_bytes for n, size in sizes.items() if size is not None and row_bytes}
    return {
        place: Deletion(young=young.get(place), rows_kept=rows.get(place[0])) for place in offsets
    }


def _texts(by_place: Mapping[Place, _T]) -> dict[str, _T]:
    """As samples have them, which are kept as JSON."""
    return {f"{name}/{partition}": told for (name, partition), told in by_place.items()}


def _row_bytes(settings: Settings, feed: Feed) -> float | None:
    """Bytes of a row, about: in bronze rows are compressed, as they mostly are in Kafka."""
    bronze = open_table(lake_of(settings), bronze_of(feed.feed))
    state = state_of(bronze) if bronze is not None else None
    return state.size_bytes / state.rows if state is not None and state.rows else None


def horizon_of(settings: Settings) -> Horizon:
    """How far ahead settings ask to look."""
    return Horizon(
        retention_s=settings.forecast.retention_hours * 3600,
        disk_s=settings.forecast.disk_hours * 3600,
        refresh_share=settings.forecast.refresh_share,
    )
