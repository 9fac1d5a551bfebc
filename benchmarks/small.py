"""What a small micro-batch costs, and whether the hundredth costs what the tenth did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from time import perf_counter

from benchmarks.ground import Ground, await_end
from benchmarks.ours import pipeline_of, schemas_of
from benchmarks.section import Figure, Section
from benchmarks.topic import topic_of
from benchmarks.venue import Venue
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.pipeline import demux_of, follower_of, start_ingest

SMALL = "small-batches"

_ROWS = 3_000
"""Rows of a batch: what a second brings at a few thousand events a second."""

_FEW_TABLES, _MANY_BATCHES, _FEW_BATCHES = 100, 100, 30
"""A hundred batches take two minutes into 100 tables; thirty as long into 1,000."""

_AROUND = 5
"""Batches whose median stands for the tenth and for the last: a single one tells little."""


@dataclass(frozen=True, slots=True)
class _Beat:
    """When a batch was done."""

    at: float
    report: BatchReport


def measure_small(venue: Venue) -> Section:
    """Time micro-batches of 3,000 rows into the two largest numbers of tables."""
    rows: list[dict[str, Figure]] = []
    for tables in sorted(venue.options.tables)[-2:]:
        batches = venue.options.batches or batches_for(tables)
        venue.announce(f"{SMALL}: {batches} batches of {_ROWS:,} rows into {tables} tables …")
        events = batches * _ROWS
        with topic_of(venue.endpoints, tables=tables, events=events, stop=venue.stop) as topic:
            row = measure_batches(venue.ground(topic), _ROWS)
        rows.append({"tables": tables, **row})
        venue.announce(f"{SMALL}: {row['seconds']} s a batch into {tables} tables")
    return Section(
        name=SMALL,
        keys=("tables",),
        rows=rows,
        note="a batch's seconds are from the end of the one before to its own, medians; the tenth "
        f"and the last stand for {_AROUND} batches around or before them",
    )


def batches_for(tables: int) -> int:
    """How many batches tell enough and take two or three minutes."""
    return _MANY_BATCHES if tables <= _FEW_TABLES else _FEW_BATCHES


def measure_batches(ground: Ground, rows: int) -> Mapping[str, Figure]:
    """Time each micro-batch of so many rows, first of ingest and then of demux."""
    stream = ground.settings.stream.model_copy(update={"max_rows_per_batch": rows})
    ground = replace(ground, settings=ground.settings.model_copy(update={"stream": stream}))
    beats: list[_Beat] = []
    with open_lake(ground.settings) as context:
        pipeline = pipeline_of(ground, context, lambda r: beats.append(_Beat(perf_counter(), r)))
        await_end(start_ingest(pipeline, ground.feed, until_caught_up=True))
        commits = len(beats)
        # A batch of demux takes commits of bronze until their files have this many bytes: one.
        pipeline = replace(pipeline, stream=stream.model_copy(update={"max_bytes_per_batch": "1b"}))
        follower_of(pipeline, demux_of(pipeline, ground.feed, schemas_of(ground))).drain()
    if ground.stop():
        raise KeyboardInterrupt
    return _figures([b for b in beats if b.report.stage is Stage.DEMUX], beats[:commits])


def _figures(demux: Sequence[_Beat], ingest: Sequence[_Beat]) -> Mapping[str, Figure]:
    seconds = _between(demux)
    tenth = seconds[max(0, min(9, len(seconds)) - _AROUND // 2 - 1) :][:_AROUND]
    reports = [beat.report for beat in demux]
    return {
        "batches": len(demux),
        "rows": round(median(sum(report.rows.values()) for report in reports)),
        "seconds": round(median(seconds), 3),
        "tenth_s": round(median(tenth), 3),
        "last_s": round(median(seconds[-_AROUND:]), 3),
        "job_s": round(median(report.seconds["job"] for report in reports), 3),
        "commit_s": round(median(report.seconds["commit"] for report in reports), 3),
        "files": round(median(report.files for report in reports)),
        "ingest_s": round(median(_between(ingest)), 3),
    }


def _between(beats: Sequence[_Beat]) -> list[float]:
    """Seconds from each batch's end to the next one's."""
    return [after.at - before.at for before, after in pairwise(beats)]
