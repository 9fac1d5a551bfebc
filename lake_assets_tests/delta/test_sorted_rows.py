import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.delta.sorted_rows import sortable, sorted_rows

SCHEMA = pa.schema([("who", pa.string()), ("level", pa.int64()), ("n", pa.int64())])
ROWS = st.lists(
    st.lists(st.tuples(st.none() | st.sampled_from("abc"), st.integers(0, 3)), max_size=20),
    min_size=1,
    max_size=5,
).filter(any)


def reader(parts):
    """Files, read again and again."""
    number = 0
    tables = []
    for part in parts:
        columns = [[who for who, _ in part], [level for _, level in part]]
        columns.append([*range(number, number + len(part))])
        number += len(part)
        tables.append(pa.table(columns, schema=SCHEMA))
    return lambda names: (one if names is None else one.select(names) for one in tables)


def order_of(row):
    return (row["who"] is None, row["who"] or "", row["level"])


@settings(deadline=None)
@given(ROWS, st.integers(0, 40), st.integers(1, 10))
def test_rows_come_in_order_in_groups_whatever_fits_into_memory(parts, at_once, group):
    read = reader(parts)
    groups = list(sorted_rows(read, ["who", "level"], at_once=at_once, group=group))
    rows = pa.concat_tables(groups).to_pylist()
    assert [order_of(row) for row in rows] == sorted(order_of(row) for row in rows)
    assert sorted(row["n"] for row in rows) == [*range(sum(map(len, parts)))]
    assert all(one.num_rows == group for one in groups[:-1])


@pytest.mark.parametrize(
    ("asked", "found"), [(("level", "who"), ("level", "who")), (("nested", "none", "n"), ("n",))]
)
def test_a_table_is_sorted_by_what_it_has_and_what_has_an_order(asked, found):
    schema = SCHEMA.append(pa.field("nested", pa.list_(pa.int64())))
    assert sortable(schema, asked) == found
