import pyarrow as pa
import pytest

from lake_assets.delta.renamed_columns import RENAMED_FROM, Renames, marked, under_newest, unmarked

STRUCT = pa.struct([("x", pa.int32()), ("y", pa.int64())])
NESTED = Renames(within={"n": Renames(now={"x": "y"})})


def table_of(rows, have, schema, renames):
    batch = pa.RecordBatch.from_pylist(rows, schema=pa.schema(have))
    return under_newest(batch, pa.schema(schema), renames).to_pylist()


def test_values_stand_under_the_newest_name_and_stay_under_the_old_one():
    rows = [{"b": 1, "bb": None}, {"b": None, "bb": 2}, {"b": None, "bb": None}]
    found = table_of(
        rows,
        [("b", pa.int32()), ("bb", pa.int64())],
        [("b", pa.int32()), ("bb", pa.int64()), ("new", pa.string())],
        Renames(now={"b": "bb"}),
    )
    assert [tuple(row.values()) for row in found] == [(1, 1, None), (None, 2, None), (None,) * 3]


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (STRUCT, lambda one: one),
        (pa.list_(STRUCT), lambda one: [one, None, one]),
        (pa.map_(pa.string(), STRUCT), lambda one: [("k", one)]),
    ],
)
def test_so_they_do_within_structs_lists_and_maps(kind, make):
    rows = [{"n": make({"x": 1, "y": None})}, {"n": None}, {"n": make({"x": None, "y": 2})}]
    found = table_of(rows, [("n", kind)], [("n", kind)], NESTED)
    assert found == [{"n": make({"x": 1, "y": 1})}, {"n": None}, {"n": make({"x": None, "y": 2})}]


def test_a_renamed_struct_may_have_renamed_fields():
    old = pa.struct([("x", pa.int32())])
    renames = Renames(now={"m": "n"}, within=NESTED.within)
    found = table_of([{"m": {"x": 1}}], [("m", old)], [("m", old), ("n", STRUCT)], renames)
    assert found == [{"m": {"x": 1}, "n": {"x": 1, "y": 1}}]


def test_a_column_says_which_older_names_it_has_the_values_of():
    columns = pa.schema([("m", STRUCT), ("n", STRUCT), ("z", pa.int32())])
    done = marked(columns, Renames(now={"m": "n", "gone": "z"}, within=NESTED.within))
    assert [one.metadata or None for one in done] == [None, {RENAMED_FROM: b"m,m.x,n.x"}, None]
    assert unmarked(columns, done) == ["n"]
    assert unmarked(done, done) == unmarked(done, columns) == []
    more = Renames(now={"m": "n", "z": "n"})
    assert marked(done, more).field("n").metadata == {RENAMED_FROM: b"m,m.x,n.x,z"}


def test_a_number_that_becomes_a_double_is_the_nearest_one_also_within_lists():
    kinds = (pa.int64(), pa.list_(pa.int64()))
    rows = pa.record_batch(
        [pa.array([2**53 + 1], kinds[0]), pa.array([[1, 2**53 + 1]], kinds[1])], names=["a", "b"]
    )
    wanted = pa.schema([("a", pa.float64()), ("b", pa.list_(pa.float64()))])
    assert under_newest(rows, wanted, Renames()).to_pylist() == [
        {"a": 2.0**53, "b": [1.0, 2.0**53]}
    ]
