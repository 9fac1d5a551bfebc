from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lake_assets.delta.origins import (
    Before,
    Everything,
    From,
    NotIn,
    Origins,
    Own,
    RowSet,
    Within,
    columns_in,
    own_of,
)
from lake_assets.model.origins import FeedRows
from lake_assets_tests.columns import KAFKA


def rows(*places, prefix="_"):
    return pa.table(
        {
            f"{prefix}topic": pa.array([topic for topic, _, _ in places], pa.string()),
            f"{prefix}partition": pa.array([p for _, p, _ in places], pa.int32()),
            f"{prefix}offset": pa.array([o for _, _, o in places], pa.int64()),
        }
    )


ROWS = [("a", 0, 5), ("a", 1, 5), ("b", 0, 5), ("a", 0, 6)]


def test_everything_is_everything():
    assert Everything().mask(rows(*ROWS)).tolist() == [True] * 4


@pytest.mark.parametrize("prefix", ["", "_"])
def test_rows_from_an_offset_on_are_told_by_partition(prefix):
    starts = From({("a", 0): 6, ("b", 0): 1}, KAFKA)
    assert starts.mask(rows(*ROWS, prefix=prefix)).tolist() == [False, False, True, True]


def test_rows_of_spans_are_told_by_partition():
    spans = Within({("a", 0): [(1, 3), (6, 8)], ("b", 0): [(0, 5)]}, KAFKA)
    assert spans.mask(rows(*ROWS)).tolist() == [False, False, False, True]


def test_rows_are_told_one_by_one():
    some = Origins(KAFKA)
    some.add(rows(("a", 0, 5), ("b", 0, 9)))
    some.add(rows(("a", 0, 7), prefix=""))
    assert len(some) == 3
    assert some.mask(rows(*ROWS)).tolist() == [True, False, False, False]
    assert some.mask(rows(("a", 0, 7))).tolist() == [True]


def test_rows_that_came_from_nowhere_are_in_no_set():
    found = rows(("a", 0, 5), (None, None, None), ("a", 0, 0))
    named = Origins(KAFKA)
    named.add(found)
    assert named.spans == {("a", 0): [(0, 1), (5, 6)]}
    assert named.mask(found).tolist() == [True, False, True]
    assert NotIn(named).mask(found).tolist() == [False, True, False]
    assert Within({("a", 0): [(0, 9)]}, KAFKA).mask(found).tolist() == [True, False, True]
    assert From({("a", 0): 0}, KAFKA).mask(found).tolist() == [True, False, True]


def test_rows_that_were_named_are_listed_as_spans_and_named_by_them():
    some = Origins(KAFKA)
    some.add(rows(("a", 0, 6), ("a", 0, 5), ("b", 0, 9), ("a", 1, 1)))
    some.add(rows(("a", 0, 9), ("a", 0, 6)))
    spans = {("a", 0): [(5, 7), (9, 10)], ("b", 0): [(9, 10)], ("a", 1): [(1, 2)]}
    assert some.spans == spans
    again = Origins(KAFKA)
    again.add_spans({**spans, ("c", 0): []})
    assert again.spans == spans
    assert again.mask(rows(*ROWS, ("a", 0, 7))).tolist() == [True, False, False, True, False]


def test_no_rows_have_no_mask():
    assert not np.any(Origins(KAFKA).mask(rows()))
    assert len(Origins(KAFKA).mask(rows(*ROWS))) == 4


def test_the_columns_are_found_in_both_forms():
    assert columns_in(["x", "topic", "offset"], KAFKA) == KAFKA
    assert columns_in(["offset", "_offset"], KAFKA).identity == ("_topic", "_partition", "_offset")


GAMES = replace(KAFKA, whose=FeedRows(feed="games", has_unnamed=True, is_named=True))

TWIN = replace(KAFKA, whose=FeedRows(feed="twin", has_unnamed=False, is_named=True))

SHARED = rows(*ROWS).append_column("_feed", pa.array(["games", None, "twin", "twin"]))

ENDS = {("a", 0): 9, ("a", 1): 9, ("b", 0): 9}


@pytest.mark.parametrize(
    ("origin", "mask"), [(GAMES, [True, True, False, False]), (TWIN, [False, False, True, True])]
)
def test_rows_of_a_table_of_several_feeds_are_told_by_their_feed(origin, mask):
    places = [(topic, partition) for topic, partition, _ in ROWS]
    sets: list[RowSet] = [
        Own(origin),
        Before(ENDS, origin),
        From(dict.fromkeys(ENDS, 0), origin),
        Within({place: [(0, 9)] for place in places}, origin),
        own_of(Everything(), SHARED.column_names, origin),
        own_of(NotIn(Before({}, origin)), SHARED.column_names, origin),
    ]
    for one in sets:
        assert one.columns(SHARED.column_names)[-1] == "_feed"
        assert one.mask(SHARED).tolist() == mask
    some = Origins(origin)
    some.add(SHARED)
    assert len(some) == 2
    assert some.mask(SHARED).tolist() == mask


@pytest.mark.parametrize(("origin", "mask"), [(GAMES, [True] * 4), (TWIN, [False] * 4)])
def test_rows_of_before_there_were_several_feeds_are_of_the_one_that_has_the_table(origin, mask):
    alone = rows(*ROWS)
    assert own_of(Everything(), alone.column_names, origin).mask(alone).tolist() == mask
    assert Before(ENDS, origin).mask(alone).tolist() == mask
    assert Own(origin).mask(alone).tolist() == mask


@pytest.mark.parametrize("origin", [GAMES, TWIN, KAFKA])
def test_all_rows_of_bronze_are_of_its_feed(origin):
    bronze = rows(*ROWS, prefix="")
    assert own_of(Everything(), bronze.column_names, origin) == Everything()
    assert Before(ENDS, origin).mask(bronze).tolist() == [True] * 4
