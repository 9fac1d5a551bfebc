import pytest

from lake_assets.model.ddl import Array, Column, Decimal, Map, Scalar, Struct, columns_of_ddl


def test_names_and_types_become_columns():
    assert columns_of_ddl("time timestamp, `heart-bpm` INT") == (
        Column("time", Scalar("timestamp")),
        Column("heart-bpm", Scalar("int")),
    )


def test_types_nest():
    (column,) = columns_of_ddl("a array<struct<x: int, m map<string, decimal(10, 2)>>>")
    inner = (Column("x", Scalar("int")), Column("m", Map(Decimal(10, 2))))
    assert column == Column("a", Array(Struct(inner)))


@pytest.mark.parametrize(
    ("alias", "kind"),
    [
        ("long", Scalar("bigint")),
        ("integer", Scalar("int")),
        ("real", Scalar("float")),
        ("byte", Scalar("tinyint")),
        ("dec(5)", Decimal(5, 0)),
        ("decimal", Decimal(10, 0)),
        ("timestamp_ltz", Scalar("timestamp")),
    ],
)
def test_a_type_may_have_several_names(alias, kind):
    assert columns_of_ddl(f"a {alias}") == (Column("a", kind),)


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("", "at the end there should be a column's name"),
        ("a", "at the end there should be a type"),
        ("a int,", "at the end there should be a column's name"),
        ("a int b string", "at 'b' there should be a comma or the end"),
        ("a foo", "at 'foo' there should be a type: one of string, boolean"),
        ("a int> , b struct<c int", "at '>' there should be a comma or the end"),
        ("a struct<x int", "at the end there should be '>'"),
        ("a map<int, string>", "the keys of a map are strings"),
        ("a decimal(39, 2)", r"decimal\(39,2\) does not exist"),
        ("a decimal(5, 7)", r"decimal\(5,7\) does not exist"),
        ("a decimal(x)", "at 'x' there should be a number"),
        ("a int, A string", "a and A are one column, since case tells none apart"),
        ("a struct<x int, X int>", "x and X are one column"),
        ("`a b` int", "'a b' cannot name a column"),
        ("`a.b` int", r"'a\.b' cannot name a column\nleave out blanks, dots and any"),
        ("a struct<`x.y`: int>", r"'x\.y' cannot name a column"),
        ("`#table` int", "'#table' cannot name a column"),
        ("a int not null", "at 'not' there should be a comma or the end"),
        ("a int; drop", "at ';' there should be a comma or the end"),
        ("a timestamp_ntz", "at 'timestamp_ntz' there should be a type"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(ddl, said):
    with pytest.raises(ValueError, match=said):
        columns_of_ddl(ddl)
