"""The floor: Spark's own append of a topic to one Delta table, as its documentation writes it."""

from benchmarks.ground import Ground, check, seconds_of

FLOOR = "floor"


def append(ground: Ground) -> dict[str, float]:
    """Land the topic's rows in one table; no headers, no schema id, nothing decoded."""
    table = str(ground.settings.lake_dir / "floor")
    rows = (
        ground.session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", ground.endpoints.kafka)
        .option("subscribe", ground.feed.source.topics.names[0])
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        rows.writeStream.format("delta")
        .option("checkpointLocation", str(ground.settings.state_dir / "floor"))
        .trigger(availableNow=True)
    )
    seconds = seconds_of(lambda: writer.start(table), ground.stop)
    stored = ground.session.read.format("delta").load(table).count()
    check(FLOOR, rows=stored, expected=ground.events)
    return {FLOOR: seconds}
