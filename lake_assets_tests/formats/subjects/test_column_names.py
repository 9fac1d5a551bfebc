"""Names of columns where fields of one name have several types."""

import pyarrow as pa
import pytest

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.avro.other_types import beside
from lake_assets.formats.schema_merge import goes_with
from lake_assets.formats.subjects.column_names import (
    column_names,
    may_be,
    renamed,
    renames_in_feed,
    with_type,
)

INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()


def fields(**kinds):
    return [pa.field(name, kind) for name, kind in kinds.items()]


def names(have, *versions, fixed=frozenset()):
    columns = {one.name.lower(): one for one in fields(**have)}
    return column_names([fields(**one) for one in versions], columns, goes_with, fixed)


def test_a_type_that_does_not_go_with_the_column_is_in_the_name():
    assert names({}, {"id": INT}) == {"id": "id"}
    assert names({"id": LONG}, {"id": INT}) == {"id": "id"}
    assert names({"id": TEXT}, {"id": INT}) == {"id": "id_int"}
    assert names({"id": TEXT, "id_int": LONG}, {"id": INT}) == {"id": "id_int"}


def test_the_oldest_version_says_which_column_it_is():
    assert names({"id": TEXT, "id_int": LONG}, {"id": INT}, {"id": LONG}) == {"id": "id_int"}
    # A later version that goes with the feed's column moves none that is there.
    have = {"id": LONG, "id_string": TEXT}
    assert names(have, {"id": TEXT}, {"id": LONG}) == {"id": "id_string"}
    # Of versions that do not go together, one that does is enough for a column that is there.
    assert names({"id": LONG}, {"id": TEXT}, {"id": LONG}) == {"id": "id"}
    assert names({"id": LONG}, {"id": TEXT}) == {"id": "id_string"}


def test_a_name_that_is_another_column_s_gets_the_type_once_more():
    have = {"id": TEXT, "id_int": TEXT}
    assert names(have, {"id": INT}) == {"id": "id_int_int"}
    assert names({**have, "id_int": LONG}, {"id": INT}) == {"id": "id_int"}
    both = {"id": INT, "id_int": INT}
    assert names({"id": TEXT}, both) == {"id_int": "id_int", "id": "id_int_int"}
    # What an older version's field is called is not a later one's.
    assert names({"id": TEXT}, {"id": INT}, both) == {"id": "id_int", "id_int": "id_int_int"}


def test_what_stands_beside_a_column_is_called_after_it():
    other = pa.struct([("member1", TEXT)])
    columns = {"id": pa.field("id", TEXT)}
    own = [fields(id_other_types=other, id=INT)]
    names = column_names(own, columns, goes_with, beside=beside)
    assert names == {"id": "id_int", "id_other_types": "id_int_other_types"}
    columns["id_int_other_types"] = pa.field("id_int_other_types", INT)
    names = column_names([fields(id=INT), *own], columns, goes_with, beside=beside)
    assert names == {"id": "id_int", "id_other_types": "id_int_other_types_struct"}
    own = [fields(id=TEXT, id_items_other_types=other)]
    assert column_names(own, columns, goes_with, beside=beside) == {
        "id": "id",
        "id_items_other_types": "id_items_other_types",
    }


def test_messages_of_one_version_have_a_column_that_goes_with_one_of_them():
    own = [[pa.field("id", INT), pa.field("id", TEXT)]]
    have = {"id": pa.field("id", TEXT), "id_int": pa.field("id_int", INT)}
    assert column_names(own, have, goes_with) == {"id": "id"}


def test_names_that_are_fixed_or_no_column_s_stay():
    assert names({"id": TEXT}, {"id": INT}, fixed=frozenset({"id"})) == {"id": "id"}
    assert names({"id": pa.null()}, {"id": INT}) == {"id": "id"}


def test_names_are_the_same_in_whatever_case():
    assert names({"Id": INT}, {"ID": INT}, {"id": LONG}) == {"ID": "Id"}
    assert names({"Id": TEXT}, {"ID": INT}) == {"ID": "ID_int"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.field("x", pa.decimal128(10, 2)), "x_decimal_10_2"),
        (pa.field("x", pa.struct([("a", INT)])), "x_struct"),
        (pa.field("x", pa.list_(INT)), "x_array"),
        (pa.field("x", pa.map_(TEXT, INT)), "x_map"),
        (pa.field("x", pa.timestamp("us", "UTC")), "x_timestamp"),
        (pa.field("x", LONG, metadata={"comment": "microseconds"}), "x_microseconds"),
        (pa.field("x", LONG), "x_bigint"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_types_are_called_as_spark_does(kind, name):
    assert with_type("x", kind) == name
    assert may_be(name, kind)
    assert may_be(with_type(name, kind), kind)
    assert not may_be("x", kind)
    assert not may_be(f"{name}s", kind)


def test_a_subject_s_renames_are_those_of_the_feed_s_columns():
    own = Renames(now={"colour": "color"}, within={"color": Renames(now={"a": "b"})})
    assert renames_in_feed(own, {}) is own
    assert renames_in_feed(own, {"color": "color_int"}) == Renames(
        now={"colour": "color_int"}, within={"color_int": Renames(now={"a": "b"})}
    )
    assert renames_in_feed(own, {"colour": "color"}).now == {}


def test_columns_that_keep_their_names_are_the_same_schema():
    columns = pa.schema(fields(a=INT, b=TEXT))
    assert renamed(columns, {"c": "d"}) is columns
    assert renamed(columns, {"a": "c"}).names == ["c", "b"]
