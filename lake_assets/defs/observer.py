"""The sensor `observer`: sources, and how streams are, as observations of the assets they are of.

It looks from outside of the process that streams: one that is dead, stopped or behind is visible as
well. What is due is decided in `supervision.observations`; what keeps an idle feed fresh is in
`defs.freshness`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.code_version import Asker, code_version
from lake_assets.defs.freshness import fresh_within, renewed
from lake_assets.defs.internals.instigators import repository_of
from lake_assets.defs.internals.materializations import latest_id
from lake_assets.defs.keys import bronze_key, name_of, named, silver_key
from lake_assets.defs.lazy_imports import locate, seconds_behind, source_standing
from lake_assets.defs.source_facts import Metadata, offsets
from lake_assets.defs.sources import keys_of_sources
from lake_assets.defs.stream_check import StreamSeen, metadata_of, stream_evaluation
from lake_assets.defs.supervision import observe
from lake_assets.errors import LakeAssetsError, ServiceError, first_line
from lake_assets.metrics.end_history import EndHistory
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.run_notes import run_note_of
from lake_assets.streams.stream_standing import StreamStanding, StreamState, standing_of
from lake_assets.supervision.far_streams import runs_elsewhere
from lake_assets.supervision.observations import ObserverMemory

if TYPE_CHECKING:
    from lake_assets.streams.source_standing import SourceStanding

NAME = "observer"

_INDEXED_EVERY_S = 600.0
"""Seconds between two looks at a folder of files, which lists all of it."""

Event = dg.AssetObservation | dg.AssetMaterialization | dg.AssetCheckEvaluation


@dataclass(kw_only=True)
class Look:
    """What one look at a feed has found."""

    feed: Feed
    stream: StreamStanding
    source: "SourceStanding | None" = None
    """None if it was not asked, or does not answer."""

    lag_s: float = 0.0
    is_asked: bool = False
    trouble: str = ""

    @property
    def another_topic(self) -> str:
        """In words, that a topic is not the one it was; blank if it is."""
        return self.source.another_topic(self.feed) if self.source else ""

    @property
    def is_idle(self) -> bool:
        """Whether all is well and nothing is left to read."""
        is_well = self.stream.state in {StreamState.RUNNING, StreamState.SCHEDULED}
        source = self.source
        return (
            is_well
            and source is not None
            and not source.rows_behind()
            and not self.another_topic
            and not source.bronze_rows_behind
        )


@dataclass(kw_only=True)
class Observer:
    """One look at all feeds of a lake; `events` are what Dagster is told."""

    settings: Settings
    feeds: Sequence[Feed]
    sources: Mapping[str, Mapping[str, dg.AssetKey]]
    """By feed, the assets of what it reads, by name."""

    memory: ObserverMemory
    now: float
    is_outdated: bool
    """Whether the streams that run have other definitions than are loaded."""

    runs_elsewhere: bool = False
    """Whether they run where the lake's lock cannot be seen from here."""

    events: list[Event] = field(default_factory=list)

    def look(self, instance: dg.DagsterInstance, endpoints: Endpoints | None) -> list[Look]:
        """Look at all feeds, and note what is to be told."""
        looks = [self._look_at(feed, endpoints) for feed in self.feeds]
        self._tell_of_sources([one for one in looks if one.source is not None])
        for one in looks:
            self._tell_of_stream(instance, one)
        self._renew(instance, looks)
        return looks

    def _look_at(self, feed: Feed, endpoints: Endpoints | None) -> Look:
        found = Look(feed=feed, stream=self._standing(feed))
        indexed_s = _INDEXED_EVERY_S if feed.source.is_indexed else 0.0
        every_s = max(self.settings.dagster.observe_every_s, indexed_s)
        if not self.memory.is_look_due(feed.feed, self.now, every_s):
            return found
        found.is_asked = True
        history = EndHistory.of(self.memory.ends.get(feed.feed, ()))
        try:
            found.source = source_standing(self.settings, feed, endpoints)
        except LakeAssetsError as problem:
            found.trouble = first_line(problem)
        if found.source is not None:
            found.lag_s = seconds_behind(history, found.source, self.now)
        lag_s = found.lag_s if found.source is not None else None
        self.memory = self.memory.looked(feed.feed, self.now, history.kept, lag_s)
        return found

    def _standing(self, feed: Feed) -> StreamStanding:
        found = standing_of(self.settings, feed)
        if found.state is StreamState.NOT_RUNNING and self.runs_elsewhere:
            detail = "on another machine or in another container"
            return StreamStanding(feed=feed.feed, state=StreamState.RUNNING, detail=detail)
        return found

    def _tell_of_sources(self, looks: Sequence[Look]) -> None:
        by_asset: dict[dg.AssetKey, list[tuple[Look, list[str]]]] = {}
        for one in looks:
            for asset, names in _names_of(self.sources[one.feed.feed]).items():
                by_asset.setdefault(asset, []).append((one, names))
        for asset, readers in by_asset.items():
            metadata: Metadata = {}
            for one, names in readers:
                suffix = f"_of_{one.feed.feed}" if len(readers) > 1 else ""
                if one.source is not None:
                    metadata |= offsets(one.feed, one.source, one.lag_s, names, suffix)
            what = repr(sorted((name, value.value) for name, value in metadata.items()))
            if self._is_told(name_of(asset), what):
                self.events.append(dg.AssetObservation(asset, metadata=metadata))

    def _tell_of_stream(self, instance: dg.DagsterInstance, one: Look) -> None:
        """Tell the check on bronze, and, what has changed, as observations."""
        feed, state = one.feed, one.stream.state
        if feed.is_triggered:
            return
        self.memory, for_s = self.memory.stands(feed.feed, str(state), self.now)
        is_running = state in {StreamState.RUNNING, StreamState.WAITING}
        seen = StreamSeen(
            standing=one.stream,
            for_s=for_s,
            lag_rows=one.source.rows_behind() if one.source else None,
            lag_s=one.lag_s if one.source else self.memory.lag_s(feed.feed),
            is_outdated=self.is_outdated and is_running,
        )
        bronze = bronze_key(self.settings, feed)
        latest = latest_id(instance, bronze)
        # A materialization that comes later makes Dagster forget the check's result.
        if self._is_told(f"{name_of(bronze)} check", f"{seen.what}|{latest}"):
            self.events.append(stream_evaluation(self.settings, feed, seen, instance))
        what = f"{state}|{one.stream.detail}|{seen.is_outdated}"
        silver = [silver_key(self.settings, feed)] if feed.has_silver else []
        for asset in (bronze, *silver):
            # The graph shows when an external asset was observed last, and never what is newer.
            is_repeated = asset == bronze
            if self._is_told(f"{name_of(asset)} of {feed.feed}", what, is_repeated=is_repeated):
                self.events.append(dg.AssetObservation(asset, metadata=metadata_of(seen)))

    def _is_told(self, about: str, what: str, *, is_repeated: bool = True) -> bool:
        is_due = self.memory.is_due(about, what, self.now, is_repeated=is_repeated)
        if is_due:
            self.memory = self.memory.tell(about, what, self.now)
        return is_due

    def _renew(self, instance: dg.DagsterInstance, looks: Sequence[Look]) -> None:
        for asset, of_asset in _filled(self.settings, looks).items():
            within = fresh_within(self.settings, [one.feed for one in of_asset])
            if within is None or not all(self._is_fresh(one) for one in of_asset):
                continue
            event = renewed(instance, asset, within, time.time())
            if event is not None:
                self.events.append(event)

    def _is_fresh(self, one: Look) -> bool:
        """Whether a feed's tables have all there is, of one with a schedule once a run had all."""
        if not one.is_idle:
            return False
        if not one.feed.is_triggered:
            return True
        return run_note_of(self.settings.state_dir, one.feed.feed).complete_at is not None


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The sensor."""
    lake, sources = lake_id(settings), keys_of_sources(settings, feeds)
    code, loaded_at = code_version(settings, feeds), time.time()

    @dg.sensor(
        name=named(settings, NAME),
        minimum_interval_seconds=15,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Observes each source with its offsets and the lag behind it, in rows and seconds, and "
            "bronze and silver with how their stream is: running, waiting, stopped and by whom, or "
            "with older definitions. Runs nothing."
        ),
    )
    def observer(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now = time.monotonic()
        asker = Asker(code=code, repository=repository_of(context), loaded_at=loaded_at)
        observed = observe(
            settings, context.instance, lake, now=now, utc_now=time.time(), asker=asker
        )
        is_old = observed.is_outdated or any(run.is_outdated for run in observed.runs)
        found = Observer(
            settings=settings,
            feeds=feeds,
            sources=sources,
            memory=ObserverMemory.from_json(context.cursor, boot=boot_id()),
            now=now,
            is_outdated=is_old,
            runs_elsewhere=runs_elsewhere(observed),
        )
        looks = found.look(context.instance, _endpoints(settings, feeds))
        return dg.SensorResult(
            asset_events=found.events,
            skip_reason="; ".join(_words(looks, is_outdated=is_old)),
            cursor=found.memory.to_json(),
        )

    return dg.Definitions(sensors=[observer])


def _words(looks: Sequence[Look], *, is_outdated: bool) -> Iterator[str]:
    for one in looks:
        detail = f" ({one.stream.detail})" if one.stream.detail else ""
        behind = ""
        if one.source is not None:
            behind = f", {one.source.rows_behind():,} rows and {one.lag_s:.0f} s behind"
            behind = f", {one.another_topic}" if one.another_topic else behind
        elif one.is_asked:
            behind = f", lag unknown: {one.trouble or 'the source does not answer'}"
        yield f"{one.feed.feed}: {one.stream.state}{detail}{behind}"
    if is_outdated:
        yield "the streams have older definitions, and are started again once"


def _names_of(keys: Mapping[str, dg.AssetKey]) -> dict[dg.AssetKey, list[str]]:
    found: dict[dg.AssetKey, list[str]] = {}
    for name, key in keys.items():
        found.setdefault(key, []).append(name)
    return found


def _filled(settings: Settings, looks: Sequence[Look]) -> dict[dg.AssetKey, list[Look]]:
    """By asset of bronze and silver, the looks at the feeds that fill it."""
    found: dict[dg.AssetKey, list[Look]] = {}
    for one in looks:
        found.setdefault(bronze_key(settings, one.feed), []).append(one)
        if one.feed.has_silver:
            found.setdefault(silver_key(settings, one.feed), []).append(one)
    return found


def _endpoints(settings: Settings, feeds: Sequence[Feed]) -> Endpoints | None:
    try:
        return locate(settings, feeds)
    except ServiceError:
        return None  # the broker does not run: its lag is unknown
