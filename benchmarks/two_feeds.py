"""Two feeds whose demux runs at once: into the same tables, and into their own.

Both read the one topic, so either way each event is decoded and written twice.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from benchmarks.ground import Ground, await_end, check, timed
from benchmarks.ours import pipeline_of, schemas_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import filling
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.model.table_names import TableNames
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.pipeline import demux_of, follower_of, start_ingest

SHARED = "demux-two-feeds-one-table"
APART = "demux-two-feeds-own-tables"

_TWIN = "twin"


def into_the_same(ground: Ground) -> dict[str, float]:
    """Demux of two feeds at once into one silver table a game."""
    own = {"feed": _TWIN, "into": ground.feed.feed, "gold": ()}
    twin = filling(ground.feed.model_copy(update=own), ground.feed)
    return {SHARED: _demux(ground, [ground.feed, twin])}


def into_their_own(ground: Ground) -> dict[str, float]:
    """Demux of two feeds at once into two silver tables a game."""
    names = TableNames(silver="twin_{key}", gold="twin_{key}_{view}")
    twin = ground.feed.model_copy(update={"feed": _TWIN, "tables": names})
    return {APART: _demux(ground, [ground.feed, twin])}


def _demux(ground: Ground, declared: Sequence[Feed]) -> float:
    """Seconds in which both feeds' bronze comes to silver."""
    reports: list[BatchReport] = []
    grounds = [replace(ground, feed=feed.beside(declared)) for feed in declared]
    with open_lake(ground.settings) as context, ThreadPoolExecutor(len(grounds)) as pool:
        pipeline = pipeline_of(ground, context, reports.append)
        for own in grounds:
            await_end(start_ingest(pipeline, own.feed, until_caught_up=True))
        followers = [
            follower_of(pipeline, demux_of(pipeline, own.feed, schemas_of(own))) for own in grounds
        ]
        seconds = timed(
            lambda: list(pool.map(lambda follower: follower.drain(), followers)), ground.stop
        )
    placed = [report for report in reports if report.stage is Stage.DEMUX]
    rows = sum(sum(r.rows.values()) + sum(r.dropped.values()) for r in placed)
    check("demux", rows=rows, expected=len(grounds) * ground.events)
    return seconds
