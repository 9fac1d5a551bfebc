"""Our keyed tables beside Spark's AUTO CDC, on the same random changes: the same rows."""

import random

import pyarrow as pa
import pyspark
import pytest
from deltalake import write_deltalake

from benchmarks.auto_cdc_peer import auto_cdc
from benchmarks.keyed import feed_of
from benchmarks.keyed_peers import ROW, Ours, differing
from benchmarks.spark_tests_jar import in_memory_tables
from lake_assets.spark.lake_context import open_lake

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.slow]

ROUNDS = 2
SCHEMA = pa.schema(
    [
        ("shop", pa.string()),
        ("id", pa.int64()),
        ("version", pa.int64()),
        ("op", pa.string()),
        ("value", pa.string()),
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
    ]
)


def changes_in_rounds(keys, seed):
    """Of each round the changes in the order in which they come.

    Out of order over rounds, some again in the same round or in a later one; some rows have a
    delete alone, and one that is older than what was there before.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    first = [
        (key, chance.randrange(60), version, "D" if chance.random() < 0.25 else "U")
        for key in keys
        for version in range(300)
    ]
    chance.shuffle(first)
    rounds = [first[start::ROUNDS] for start in range(ROUNDS)]
    for number, own in enumerate(rounds):
        for again in rounds[: number + 1]:
            own.extend(chance.sample(again[:100], 20))
        chance.shuffle(own)
    return rounds


def reading(changes):
    """What changes come to, by key: `ROW`s."""
    newest = {}
    for key, id_, version, op in changes:
        newest[key, id_] = max((version, op), newest.get((key, id_), (version, op)))
    return {(key, id_, version) for (key, id_), (version, op) in newest.items() if op == "U"}


def as_rows(changes, start):
    names = SCHEMA.names
    return pa.Table.from_pylist(
        [
            dict(zip(names, (*one, f"{one[0]} {one[2]}", "changes", 0, start + at), strict=True))
            for at, one in enumerate(changes)
        ],
        schema=SCHEMA,
    )


def test_both_have_the_same_rows_after_each_round(spark, settings):
    feed = feed_of(2)
    places = {key: settings.lake_dir / feed.silver_table(key).relative for key in feed.keys}
    for place in places.values():
        write_deltalake(place, SCHEMA.empty_table())
    rounds = changes_in_rounds(feed.keys, seed=11)
    taken = []
    with open_lake(settings) as context, auto_cdc(settings, places) as theirs:
        ours = Ours(spark, feed, context)
        for own in rounds:
            rows = as_rows(own, len(taken))
            taken += own
            for key, place in places.items():
                write_deltalake(place, rows.filter(pa.compute.field("shop") == key), mode="append")
            for peer in (ours, theirs):
                peer.refresh()
            for key in feed.keys:
                assert not differing([ours.rows(key), theirs.rows(key)])
            found = {
                (key, row["id"], row["version"])
                for key in feed.keys
                for row in theirs.rows(key).select(list(ROW)).to_pylist()
            }
            assert found == reading(taken)
        _check_equal_orders(ours, theirs, places[feed.keys[0]], feed.keys[0], len(taken))


def _check_equal_orders(ours, theirs, place, key, start):
    """As docs/keyed-tables.md tells: a later delete of equal order deletes in ours alone."""
    for change in ((key, 1000, 5_000, "U"), (key, 1000, 5_000, "D")):
        write_deltalake(place, as_rows([change], start), mode="append")
        start += 1
        for peer in (ours, theirs):
            peer.refresh()
    assert 1000 not in ours.rows(key)["id"].to_pylist()
    assert 1000 in theirs.rows(key)["id"].to_pylist()


def test_the_tables_in_memory_are_of_our_spark(settings):
    assert pyspark.__version__ in in_memory_tables(settings).name
