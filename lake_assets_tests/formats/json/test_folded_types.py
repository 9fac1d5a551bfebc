from itertools import permutations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.formats.json.folded_types import FoldedColumns, type_of_all
from lake_assets.formats.json.inference import ddl_of, joined, names_in
from lake_assets_tests.formats.json.inferred_kinds import KINDS


def folded(kinds, most=500):
    columns = FoldedColumns(most)
    for kind in kinds:
        columns.add("v", kind)
    return columns


def type_of(kinds):
    (column,) = folded(kinds).columns
    return named(column.type)


def named(kind):
    """A type without the order of its fields."""
    if pa.types.is_struct(kind):
        return frozenset((field.name, named(field.type)) for field in kind)
    return (named(kind.value_type),) if pa.types.is_list(kind) else str(kind)


@given(st.lists(KINDS, min_size=1, max_size=4), st.integers(1, 9))
@settings(deadline=None)
def test_a_fold_is_the_same_in_any_order_and_however_it_is_cut(kinds, most):
    assert len({type_of(some) for some in permutations(kinds)}) == 1
    assert len({frozenset(folded(some, most).crowded) for some in permutations(kinds)}) == 1
    (half,) = folded(kinds[:2]).columns
    assert type_of([half.type, *kinds[2:]]) == type_of(kinds)


@given(st.lists(KINDS, min_size=1, max_size=4))
@settings(deadline=None)
def test_a_type_of_all_holds_all(kinds):
    whole = type_of_all(kinds, 500)
    if whole is not None:
        assert all(joined(whole, kind) == whole for kind in kinds)
        assert named(whole) == type_of(kinds)
        assert type_of_all(kinds, names_in(whole)) == whole
        assert type_of_all(kinds, names_in(whole) - 1) is None


def test_no_types_have_no_type():
    assert type_of_all([], 500) is None


@pytest.mark.parametrize(
    "kinds",
    [
        [pa.int64(), pa.string()],
        [pa.struct([("x", pa.int64())]), pa.struct([("X", pa.int64())])],
        [pa.struct([("x", pa.int64())]), pa.list_(pa.int64())],
        [pa.list_(pa.bool_()), pa.list_(pa.float64())],
    ],
)
def test_types_that_do_not_go_together_have_no_type_of_all(kinds):
    assert type_of_all(kinds, 500) is None


def test_in_objects_too_the_first_type_is_chosen():
    rows = [
        pa.struct([("x", pa.string()), ("y", pa.struct([("z", pa.int64())]))]),
        pa.struct([("x", pa.int64()), ("X", pa.bool_())]),
    ]
    columns = FoldedColumns(500)
    for row in rows:
        columns.add("o", row)
    (column,) = columns.columns
    assert ddl_of(column.type) == "struct<`X`: boolean, `y`: struct<`z`: bigint>>"


def test_a_name_with_too_many_fields_is_kept_without_them():
    columns = FoldedColumns(3)
    for n in range(9):
        columns.add("by", pa.struct([(f"u{n}", pa.int64())]))
        columns.add("o", pa.struct([(f"u{n % 3}", pa.int64())]))
    assert (columns.crowded, [column.name for column in columns.columns]) == ({"by"}, ["o"])
