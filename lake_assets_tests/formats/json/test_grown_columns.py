from dataclasses import replace
from itertools import permutations

import pyarrow as pa

from lake_assets.formats.json.grown_columns import GrowthRules, grown_columns
from lake_assets.formats.json.inference import MOST_COLUMNS

HAVE = pa.schema([("n", pa.int64()), ("_rescued", pa.string())])
RULES = GrowthRules(fixed={"_rescued"}, taken=(), widens=True, adds=True, unrounded=())


def test_the_order_in_which_rows_ask_is_of_no_matter():
    asked = [
        pa.field("n", pa.float64()),
        pa.field("s", pa.string()),
        pa.field("s", pa.int64()),
        pa.field("o", pa.struct([("x", pa.int64())])),
        pa.field("o", pa.struct([("x", pa.float64())])),
    ]
    for some in permutations(asked):
        grown = grown_columns(HAVE, some, RULES)
        types = {column.name: str(column.type) for column in grown.columns}
        assert types == {
            "n": "double",
            "_rescued": "string",
            "s": "int64",
            "o": "struct<x: double>",
        }
        assert grown.room == MOST_COLUMNS - 3


def test_columns_that_are_declared_or_taken_stay_out_of_it():
    rules = GrowthRules(fixed={"n"}, taken=("day",), widens=True, adds=True, unrounded=())
    asked = [pa.field("n", pa.float64()), pa.field("day", pa.string())]
    grown = grown_columns(HAVE, asked, rules)
    assert grown.columns == HAVE
    assert grown.refused == {"day"}


def test_a_table_that_was_asked_for_too_much_in_vain_counts_as_full():
    some = [pa.field(f"u{n}", pa.struct([("x", pa.int64())])) for n in range(MOST_COLUMNS)]
    crowded = {f"by{n}" for n in range(MOST_COLUMNS)}
    rules = replace(RULES, crowded=crowded)
    assert grown_columns(HAVE, [], rules).room == MOST_COLUMNS - 1
    grown = grown_columns(HAVE, [*some, pa.field("z", pa.int64())], rules)
    assert grown.refused == {*crowded, "u499", "z"}
    assert grown.room == 0
