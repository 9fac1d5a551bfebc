"""An hour of streams, driven as fast as it goes: with maintenance, and without it.

A batch stands for a second: some thousand rows into all tables. Every so often gold is refreshed
and the tables are maintained, as schedules would. What is told is whether the last batch costs what
the first ones did, and what lies on the disk then.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from time import perf_counter

import psutil

from benchmarks.ground import Ground, await_end
from benchmarks.ours import pipeline_of, schemas_of
from benchmarks.section import Figure, Section
from benchmarks.topic import topic_of
from benchmarks.venue import Venue
from lake_assets.delta.catalog import tables_of
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import open_table
from lake_assets.gold.refresh import refresh
from lake_assets.maintenance.run import maintain
from lake_assets.model.tables import TableRef
from lake_assets.settings.schema import Settings
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.demux_loop import Follower
from lake_assets.streams.pipeline import demux_of, follower_of, start_ingest

ENDURANCE = "endurance"

_BATCHES = 3600
"""An hour at a trigger of a second."""

_ROWS = 2_000
"""Rows of a batch."""

_SHARE = 12
"""Parts of the run: after each gold is refreshed and the tables are maintained. Of an hour it is
five minutes."""

_UPKEEP = MaintenanceSettings(keep_hours=1 / 60)
"""Versions are kept for a minute: the run takes less than the hour that it stands for."""


@dataclass(kw_only=True)
class _Run:
    """What is seen on the way."""

    parts: list[float] = field(default_factory=list)
    """Median seconds of a batch, of each part."""

    refreshes: list[float] = field(default_factory=list)
    upkeep: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    """Bytes of all processes, at the end of each part."""

    def last_part(self) -> str:
        """The newest part in words: a machine that others use shows in one, growth in all."""
        told = f"part {len(self.parts)}: batch {self.parts[-1]:.3f} s, refresh"
        told += f" {self.refreshes[-1]:.1f} s, memory {self.memory[-1] / 1e6:,.0f} MB"
        return f"{told}, maintenance {self.upkeep[-1]:.1f} s" if self.upkeep else told


def measure_endurance(venue: Venue) -> Section:
    """Drive the same batches into two lakes, one of which is maintained."""
    tables = venue.options.some_tables
    batches = max(_SHARE * 2, venue.options.batches or _BATCHES)
    rows: list[dict[str, Figure]] = []
    with topic_of(venue.endpoints, tables=tables, events=batches * _ROWS, stop=venue.stop) as topic:
        for is_maintained in (True, False):
            name = "maintained" if is_maintained else "left alone"
            venue.announce(f"{ENDURANCE}: {batches} batches into {tables} tables, {name} …")
            ground = venue.ground(topic)
            run = _drive(venue, ground, batches, is_maintained=is_maintained)
            row = {"lake": name, "batches": batches, **_figures(run), **_on_disk(ground)}
            rows.append(row)
            venue.announce(f"{ENDURANCE}: {row}")
            venue.sweep()
    return Section(
        name=ENDURANCE,
        keys=("lake",),
        rows=rows,
        note=f"{_ROWS:,} rows a batch into {tables} tables; seconds are medians of the first and "
        f"of the last of {_SHARE} parts; gold is refreshed after each, and versions are kept for "
        "a minute; files are those of the table that has most",
    )


def _drive(venue: Venue, ground: Ground, batches: int, *, is_maintained: bool) -> _Run:
    stream = ground.settings.stream.model_copy(update={"max_rows_per_batch": _ROWS})
    # A batch of demux takes commits of bronze until their files have this many bytes: one.
    single = stream.model_copy(update={"max_bytes_per_batch": "1b"})
    ground = replace(ground, settings=ground.settings.model_copy(update={"stream": stream}))
    upkept = ground.settings.model_copy(update={"maintenance": _UPKEEP})
    run = _Run()
    with open_lake(ground.settings, ground.session) as context:
        pipeline = pipeline_of(ground, context, lambda _: None)
        await_end(start_ingest(pipeline, ground.feed, until_caught_up=True))
        demux = demux_of(replace(pipeline, stream=single), ground.feed, schemas_of(ground))
        follower = follower_of(replace(pipeline, stream=single), demux)
        for _ in range(_SHARE):
            run.parts.append(_batches(follower, batches // _SHARE))
            run.refreshes.append(_timed(lambda: _refresh(ground, context)))
            if is_maintained:
                run.upkeep.append(_timed(lambda: maintain(upkept, ground.feed)))
            run.memory.append(_memory())
            venue.announce(f"{ENDURANCE}: {run.last_part()}")
            if venue.stop():
                raise KeyboardInterrupt
    if is_maintained:
        maintain(upkept, ground.feed)
    return run


def _batches(follower: Follower, count: int) -> float:
    seconds = []
    for _ in range(count):
        began = perf_counter()
        follower.step()
        seconds.append(perf_counter() - began)
    return median(seconds)


def _refresh(ground: Ground, context: LakeContext) -> None:
    view = ground.feed.gold[0]
    refresh(ground.session, ground.feed, view, ground.feed.keys, context, None)


def _timed(act: Callable[[], object]) -> float:
    began = perf_counter()
    act()
    return perf_counter() - began


def _memory() -> int:
    """Bytes of this process and all below it, each page counted once."""
    own, total = psutil.Process(), 0
    for process in [own, *own.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # a worker that ended meanwhile
            total += process.memory_full_info().pss
    return total


def _figures(run: _Run) -> Mapping[str, Figure]:
    # The first part has Java's compiler in it.
    return {
        "batch_s": round(run.parts[1], 3),
        "last_batch_s": round(run.parts[-1], 3),
        "refresh_s": round(run.refreshes[1], 3),
        "last_refresh_s": round(run.refreshes[-1], 3),
        "upkeep_s": round(sum(run.upkeep), 1),
        "memory_mb": round(run.memory[1] / 1e6),
        "last_memory_mb": round(run.memory[-1] / 1e6),
    }


def _on_disk(ground: Ground) -> Mapping[str, Figure]:
    lake, feed, settings = lake_of(ground.settings), ground.feed, ground.settings
    live = {table: open_table(lake, table) for table in tables_of(lake, feed)}
    files = {table: active_files(handle) for table, handle in live.items() if handle}
    logs = [len(list(_folder(settings, table).glob("_delta_log/*"))) for table in files]
    on_disk = sum(
        path.stat().st_size
        for table in files
        for path in _folder(settings, table).rglob("*.parquet")
        if "_delta_log" not in path.parts
    )
    return {
        "live_files": max(len(of_table) for of_table in files.values()),
        "log_files": max(logs),
        "disk_mb": round(on_disk / 1e6),
        "live_mb": round(sum(f.size for of_table in files.values() for f in of_table) / 1e6),
    }


def _folder(settings: Settings, table: TableRef) -> Path:
    return settings.lake_dir / table.relative
