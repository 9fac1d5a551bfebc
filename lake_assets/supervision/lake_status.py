"""How a lake is, at a glance: its streams, feeds, views, failing checks, sinks and disk.

Reads heartbeats, logs of tables and what is noted beside them; starts nothing, and needs no Spark.
What of it is wrong is for who shows it to say.
"""

import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.log_history import (
    committed_at,
    newest_of,
    open_table,
    rows_of,
    rows_since,
    written_at,
)
from lake_assets.model.cron import next_tick_in_words
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.tables import EVERY_KEY, TableRef, bronze_of, quarantine_of, waiting_of
from lake_assets.settings.schema import Settings
from lake_assets.state.batch_strikes import strikes_by_stage
from lake_assets.state.failing_expectations import read_failures
from lake_assets.state.stream_stops import stops_of
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.overview import source_lag
from lake_assets.streams.progress import demux_position
from lake_assets.streams.stream_standing import StreamState, standing_of
from lake_assets.supervision.facts import Observed
from lake_assets.supervision.machine import look, policy_of
from lake_assets.supervision.status_facts import (
    CheckStatus,
    FeedStatus,
    LakeStatus,
    SinkStatus,
    StreamsState,
    StreamsStatus,
    ViewStatus,
)

_ANY_TIME_S = 0.0


def lake_status(
    settings: Settings, feeds: Sequence[Feed], endpoints: Endpoints | None
) -> LakeStatus:
    """Look at all of it.

    Args:
        settings: where the lake is.
        feeds: which of them.
        endpoints: of their sources; None where none can be asked.

    Raises:
        LakeError: a table's log, or what is noted, cannot be read.
    """
    lake, now = lake_of(settings), time.time()
    seen = look(settings, now=time.monotonic())
    disk = shutil.disk_usage(_nearest(settings.disk_dir))
    return LakeStatus(
        lake=str(settings.lake_root),
        streams=_streams(settings, seen, supervised(feeds), wall_s=now),
        feeds=[_feed(settings, lake, feed, endpoints) for feed in feeds],
        views=[one for feed in feeds for one in _views(lake, feed)],
        failing=[one for feed in feeds for one in _failing(settings, feed)],
        sinks=[one for feed in feeds for one in _sinks(lake, feed, now)],
        disk_free_bytes=disk.free,
        disk_size_bytes=disk.total,
    )


def _streams(
    settings: Settings, seen: Observed, wanted: Sequence[Feed], *, wall_s: float
) -> StreamsStatus:
    is_wanted = bool(wanted)
    if not seen.is_locked:
        if seen.writer is not None:
            place = seen.writer.place
            return StreamsStatus(state=StreamsState.ELSEWHERE, is_wanted=is_wanted, host=place)
        stops = stops_of(settings.state_dir, [feed.feed for feed in wanted])
        is_stopped = is_wanted and len(stops) == len(wanted)
        state = StreamsState.STOPPED if is_stopped else StreamsState.NOT_RUNNING
        return StreamsStatus(state=state, is_wanted=is_wanted)
    beat, policy = seen.beat, policy_of(settings)
    if seen.far_beat is not None:
        far = seen.far_beat
        return StreamsStatus(
            state=StreamsState.ELSEWHERE,
            is_wanted=is_wanted,
            host="another machine or container",
            owner=far.owner,
            detail=far.waiting_for or "",
        )
    if beat is None or not seen.is_beater_alive:
        detail = "whoever holds the lock says nothing that holds on this machine"
        return StreamsStatus(state=StreamsState.SILENT, is_wanted=is_wanted, detail=detail)
    quiet_s, silent_s = seen.now - beat.progressed_at, seen.now - beat.at
    state, detail = StreamsState.RUNNING, ""
    if silent_s > policy.silent_after_s:
        state, detail = StreamsState.SILENT, f"no heartbeat for {silent_s:.0f} s"
    elif beat.waiting_for is not None:
        state, detail = StreamsState.WAITING, beat.waiting_for
    elif quiet_s > policy.stall_after_s:
        state, detail = StreamsState.STALLED, f"no progress for {quiet_s:.0f} s"
    return StreamsStatus(
        state=state,
        is_wanted=is_wanted,
        host=socket.gethostname(),
        pid=beat.pid,
        owner=beat.owner,
        since=_utc(wall_s - (seen.now - beat.began_at)),
        detail=detail,
    )


def _feed(settings: Settings, lake: Store, feed: Feed, endpoints: Endpoints | None) -> FeedStatus:
    now = time.time()
    bronze = open_table(lake, bronze_of(feed.feed))
    lag = source_lag(settings, feed, endpoints)
    rows, behind, last_at, behind_s = 0, 0, None, _ANY_TIME_S
    if bronze is not None:
        rows = rows_of(bronze)
        last_at = _came_at(lake, feed, bronze)
        if feed.has_silver:
            first = demux_position(lake, feed).bronze.version + 1
            behind = rows_since(bronze, first)
            came_at = committed_at(lake, bronze_of(feed.feed), first) if behind else None
            behind_s = 0.0 if came_at is None else max(0.0, now - came_at)
    quarantined = _rows(lake, quarantine_of(feed.feed))
    standing = standing_of(settings, feed)
    state, detail = standing.state, standing.detail
    if poisoned := _poisoned(settings.state_dir, feed):
        state, detail = StreamState.BLOCKED, "; ".join(poisoned)
    return FeedStatus(
        feed=feed.feed,
        state=state,
        detail=detail,
        lag_rows=lag,
        lag_s=_lag_s(lag, last_at, now),
        behind_rows=behind,
        behind_s=behind_s,
        last_batch_at=None if last_at is None else _utc(last_at),
        rows=rows,
        quarantined_rows=quarantined,
        quarantine_share=quarantined / rows if rows else 0.0,
        waiting_rows=_rows(lake, waiting_of(feed.feed)),
        next_run=None if feed.schedule is None else next_tick_in_words(feed.schedule, _utc(now)),
    )


def _poisoned(state_dir: Path, feed: Feed) -> list[str]:
    if not strikes_by_stage(state_dir, feed.feed):
        return []
    # Loaded only where a batch failed: pyspark comes with it, which takes as long as all the rest.
    from lake_assets.streams.batch_attempts import poisoned_batches  # noqa: PLC0415

    return poisoned_batches(state_dir, feed)


def _came_at(lake: Store, feed: Feed, bronze: DeltaTable) -> float | None:
    """When bronze got its newest rows; not when maintenance last wrote it."""
    newest, _ = newest_of(bronze, "ingested_at")
    if newest is not None:
        return newest.timestamp()
    return written_at(lake, bronze_of(feed.feed))


def _lag_s(lag_rows: int | None, last_at: float | None, now: float) -> float | None:
    if lag_rows == 0:
        return 0.0
    return None if lag_rows is None or last_at is None else max(0.0, now - last_at)


def _rows(lake: Store, table: TableRef) -> int:
    handle = open_table(lake, table)
    return 0 if handle is None else rows_of(handle)


def _views(lake: Store, feed: Feed) -> Iterator[ViewStatus]:
    keys = keys_found(lake, feed)
    for view in feed.gold:
        own = [EVERY_KEY] if view.is_over_all else keys
        times = [at for key in own if (at := written_at(lake, feed.gold_table(view, key)))]
        refreshed_at = _utc(max(times)) if times else None
        yield ViewStatus(
            feed=feed.feed, view=view.name, tables=len(times), refreshed_at=refreshed_at
        )


def _failing(settings: Settings, feed: Feed) -> Iterator[CheckStatus]:
    for (key, name), failing in sorted(read_failures(settings.state_dir, feed.feed).items()):
        yield CheckStatus(
            feed=feed.feed,
            key=key,
            name=name,
            severity=failing.severity,
            since=failing.since,
            words=failing.words,
        )


def _sinks(lake: Store, feed: Feed, now: float) -> Iterator[SinkStatus]:
    if not feed.sinks:
        return
    # Loaded only where there are some, as above.
    from lake_assets.sinks.standing import standing_of as standing_of_sink  # noqa: PLC0415

    for sink in feed.sinks:
        standing = standing_of_sink(lake, feed, sink, _ANY_TIME_S)
        if standing is not None:
            since = standing.behind_since
            yield SinkStatus(
                sink=f"{feed.feed}.{sink.name}",
                behind_s=0.0 if since is None else max(0.0, now - since),
                dead_letters=standing.new_letters,
            )


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _nearest(folder: Path) -> Path:
    absolute = folder.absolute()
    return next(path for path in (absolute, *absolute.parents) if path.exists())
