"""A peer: one streaming query a game, each with its own filter, checkpoint and Delta table.

As Spark's and Delta's guides write a query, in a loop over the games; what a `for` loop of a
pipeline comes to. Each query reads the whole topic and decodes all of it.
"""

import time
from collections.abc import Sequence

from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.decoding import Shape, events
from benchmarks.ground import Ground, await_end, timed
from benchmarks.landed import check_tables, tables_of
from benchmarks.shape import shape_of

N_QUERIES = "n-queries"

_AT_ONCE = 10
"""Queries that run at the same time, as a user with two cores would bound them: each holds Kafka
consumers with their buffers, and ten keep both cores busy. More at once was not tried."""


def run_queries(ground: Ground) -> dict[str, float]:
    """Land each game's rows with a query of its own, ten queries at a time, all in one session."""
    shape, games = shape_of(ground), ground.feed.keys

    def run() -> None:
        waiting, running = list(games), list[StreamingQuery]()
        while waiting or running:
            while waiting and len(running) < _AT_ONCE:
                running.append(_start(ground, shape, waiting.pop(0)))
            running = _still_running(running)

    seconds = timed(run, ground.stop)
    check_tables(N_QUERIES, ground, tables_of(games, ground.settings.lake_dir))
    return {N_QUERIES: seconds}


def _start(ground: Ground, shape: Shape, game: str) -> StreamingQuery:
    rows = events(
        ground.session, ground.endpoints.kafka, ground.feed.source.topics.names[0], shape
    ).where(f"{ground.feed.route_column} = '{game}'")
    return (
        rows.writeStream.format("delta")
        .option("checkpointLocation", str(ground.settings.state_dir / game))
        .trigger(availableNow=True)
        .start(str(ground.settings.lake_dir / f"silver_{game}"))
    )


def _still_running(queries: Sequence[StreamingQuery]) -> list[StreamingQuery]:
    """Those that run on after a moment."""
    time.sleep(_MOMENT_S)
    ended = [query for query in queries if not query.isActive]
    for query in ended:
        await_end(query)
    return [query for query in queries if query.isActive]


_MOMENT_S = 0.05
"""Seconds between two looks at the queries; a place that is free is taken that soon."""
