from itertools import permutations

import pyarrow as pa

from lake_assets.formats.json.columns import MOST_COLUMNS
from lake_assets.formats.json.grown_columns import GrowthRules, grown_columns

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
