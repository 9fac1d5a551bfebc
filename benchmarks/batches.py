"""A peer: one streaming query whose `foreachBatch` writes each game's rows to its Delta table.

As Spark's guide writes it (persist the batch, write it several times, unpersist) with Delta's
options for writes that happen once (`txnAppId`, `txnVersion`), and in four threads, as many as
our own commits have. Each write is a Spark job over the whole cached batch.
"""

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame

from benchmarks.decoding import events
from benchmarks.ground import Ground, seconds_of
from benchmarks.landed import check_tables, tables_of
from benchmarks.shape import shape_of

FOREACH_BATCH = "foreach-batch"

_THREADS = 4


def run_batches(ground: Ground) -> dict[str, float]:
    """Decode the topic once, and land each game's rows with a filtered write."""
    games, route = ground.feed.keys, ground.feed.route_column
    tables = tables_of(games, ground.settings.lake_dir)
    rows = events(
        ground.session,
        ground.endpoints.kafka,
        ground.feed.source.topics.names[0],
        shape_of(ground),
    )

    def write(batch: DataFrame, number: int) -> None:
        def append(game: str) -> None:
            target = batch.where(f"{route} = '{game}'").write.format("delta").mode("append")
            target = target.option("txnAppId", FOREACH_BATCH).option("txnVersion", number)
            target.save(str(tables[game]))

        batch.persist()
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(append, games))
        batch.unpersist()

    writer = (
        rows.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(ground.settings.state_dir / FOREACH_BATCH))
        .trigger(availableNow=True)
    )
    seconds = seconds_of(writer.start, ground.stop)
    check_tables(FOREACH_BATCH, ground, tables)
    return {FOREACH_BATCH: seconds}
