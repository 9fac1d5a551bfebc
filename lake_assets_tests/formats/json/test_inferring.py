"""Columns that are inferred from the values, batch after batch, over restarts."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.errors import UnknownColumnsError
from lake_assets.formats.json.inference import MOST_COLUMNS
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    NewColumnsQuestion,
    UnknownNamesQuestion,
)
from lake_assets.model.payload import JsonPayload
from lake_assets.model.quarantine import Reason
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.json.given import NOTHING, batch, rows_of


def inferring(**declared):
    return JsonFormat("fitness", JsonPayload.model_validate({"infer": True, **declared}))


class Table:
    """What silver remembers of batches: its columns."""

    def __init__(self, made=None, have=NOTHING):
        self.format, self.have = made or inferring(), have
        self.schemas = self.format.newest()

    def take(self, *values):
        """A batch's rows, once its questions are answered."""
        raw = batch(*(v if isinstance(v, bytes) else json.dumps(v).encode() for v in values))
        for _ in range(3):
            decoder = self.format.plan(self.schemas, self.have, ())
            self.have = decoder.columns
            found = decoder.decode(raw)
            if not found.questions:
                return rows_of(found)
            self.schemas = self.format.resolve(self.schemas, frozenset(found.questions))
        raise AssertionError(found.questions)

    def restarted(self):
        return Table(self.format, self.have)

    @property
    def types(self):
        return {field.name: str(field.type) for field in self.have if field.name != "_rescued"}


def test_the_first_batch_makes_the_columns():
    table = Table()
    assert table.types == {}
    rows = table.take({"id": "a", "n": 1, "x": 0.5}, {"id": "b", "ok": True, "nothing": None})
    assert table.types == {"id": "string", "n": "int64", "ok": "bool", "x": "double"}
    assert rows == [{"id": "a", "n": 1, "x": 0.5}, {"id": "b", "ok": True}]


def test_before_the_first_row_a_table_has_what_is_hinted():
    table = Table(inferring(hints="kcal int, time timestamp"))
    assert table.take() == []
    assert table.types == {"kcal": "int32", "time": "timestamp[us, tz=UTC]"}
    assert Table().take(b"", b"{", {}) == [
        (Reason.EMPTY_VALUE, None),
        (Reason.UNDECODABLE, "at character 1: Expecting property name enclosed in double quotes"),
        {},
    ]


def test_hints_win_over_what_values_look_like():
    table = Table(inferring(hints="kcal int, time timestamp, o struct<x: int>"))
    (row, other) = table.take(
        {"kcal": 1, "time": "2026-11-22T12:00:00Z", "at": "2026-11-22T12:00:00Z", "o": {"y": 1}},
        {"kcal": 1.5, "time": "noon"},
    )
    assert table.types["kcal"] == "int32"
    assert table.types["at"] == "string"
    assert table.types["o"] == "struct<x: int32>"
    assert row["_rescued"] == '{"o":{"y":1}}'
    assert other == {"_rescued": '{"kcal":1.5,"time":"noon"}'}


def test_columns_get_wider_and_never_narrower_also_after_a_restart():
    table = Table()
    table.take({"n": 1, "o": {"x": 1}, "l": [1], "s": "a"})
    table = table.restarted()
    assert table.take({"n": 2, "o": {"x": 1}, "l": [2], "s": "b"})
    assert table.types["n"] == "int64"
    (row,) = table.take({"n": 1.5, "o": {"x": 2.5, "y": "b"}, "l": [1.5]})
    assert table.types == {
        "l": "list<item: double>",
        "n": "double",
        "o": "struct<x: double, y: string>",
        "s": "string",
    }
    assert row == {"n": 1.5, "o": {"x": 2.5, "y": "b"}, "l": [1.5]}
    table = table.restarted()
    table.take({"n": 3, "o": {"x": 1}, "l": [1]})
    assert table.types["n"] == "double"


def test_what_goes_with_no_type_of_a_column_is_rescued():
    table = Table()
    table.take({"n": 1, "s": "a", "b": True, "o": {"x": 1}})
    before = table.types
    rows = table.take({"n": "many"}, {"s": 1}, {"b": 0}, {"o": [1]}, {"o": {"x": "a"}})
    assert table.types == before
    assert [row["_rescued"] for row in rows] == [
        '{"n":"many"}',
        '{"s":1}',
        '{"b":0}',
        '{"o":[1]}',
        '{"o":{"x":"a"}}',
    ]


def test_a_field_of_nulls_and_empty_arrays_gets_a_column_with_its_first_value():
    table = Table()
    (row,) = table.take({"a": None, "l": [], "o": {}, "n": 1})
    assert table.types == {"n": "int64"}
    assert row == {"n": 1, "_rescued": '{"l":[],"o":{}}'}
    (_, row) = table.take({"a": "x", "l": ["y"]}, {"l": []})
    assert table.types == {"n": "int64", "a": "string", "l": "list<item: string>"}
    assert row == {"l": []}


def test_an_object_gets_a_column_though_a_field_of_it_says_nothing():
    table = Table()
    (row,) = table.take({"o": {"x": 1, "tags": [], "a.b": 1}})
    assert row == {"o": {"x": 1}, "_rescued": '{"o":{"tags":[],"a.b":1}}'}
    (row,) = table.take({"o": {"tags": ["a"]}})
    assert row == {"o": {"x": None, "tags": ["a"]}}


@pytest.mark.parametrize("rule", ["rescue", "ignore", "quarantine"])
def test_after_the_first_batch_the_rule_says_what_becomes_of_new_names(rule):
    table = Table(inferring(on_unknown=rule))
    assert table.take(b"{") == [
        (Reason.UNDECODABLE, "at character 1: Expecting property name enclosed in double quotes")
    ]
    table.take({"n": 1, "o": {"x": 1}})
    for again in (table, table.restarted()):
        rows = again.take({"n": 1.5, "new": 1}, {"o": {"x": 1.5, "new": 1}}, {"n": 2})
        if rule == "quarantine":  # of the whole row, which then makes nothing wider
            assert [row[0] for row in rows[:2]] == [Reason.UNKNOWN_COLUMN] * 2
            assert again.types == {"n": "int64", "o": "struct<x: int64>"}
        else:
            assert again.types == {"n": "double", "o": "struct<x: double>"}
            kept = rule == "rescue"
            assert rows[0] == {"n": 1.5} | ({"_rescued": '{"new":1}'} if kept else {})
            assert rows[1] == {"o": {"x": 1.5}} | ({"_rescued": '{"o":{"new":1}}'} if kept else {})


@pytest.mark.parametrize("rule", ["rescue", "ignore", "quarantine", "fail"])
def test_the_rule_counts_from_the_first_row_on_also_where_all_its_fields_are_hinted(rule):
    had = []
    made = replace(inferring(on_unknown=rule, hints="model string"), has_rows=lambda: bool(had))
    table = Table(made)
    assert table.take(b"{")[0][0] == Reason.UNDECODABLE  # no row of the tables
    assert table.take({"model": "a"}) == [{"model": "a"}]
    had.append("a row")
    for again in (table, table.restarted()):
        again.schemas = made.for_next_batch(again.schemas, 0.0)
        if rule == "fail":
            with pytest.raises(UnknownColumnsError):
                again.take({"model": "b", "n": 1})
        else:
            row = {"model": "b"} | ({"_rescued": '{"n":1}'} if rule == "rescue" else {})
            refused = (Reason.UNKNOWN_COLUMN, "no column is declared for n")
            assert again.take({"model": "b", "n": 1}) == [refused if rule == "quarantine" else row]
        assert again.types == {"model": "string"}
    assert made.for_next_batch(table.schemas, 0.0) is table.schemas


def test_a_misfit_that_makes_a_column_wider_is_not_quarantined():
    table = Table(inferring(on_mismatch="quarantine"))
    table.take({"n": 1, "s": "a"})
    rows = table.take({"n": 1.5}, {"s": 1, "new": 2}, {"n": "x", "s": "b"})
    assert rows == [
        {"n": 1.5},
        (Reason.TYPE_MISMATCH, "s is no string: 1"),
        (Reason.TYPE_MISMATCH, 'n is no double: "x"'),
    ]
    assert table.types == {"n": "double", "s": "string"}


def test_a_column_with_integers_that_doubles_round_keeps_them():
    table = Table()
    table.take({"id": 2**60, "o": {"x": 1}})
    table.schemas = table.format.resolve(table.schemas, frozenset({KeptTypesQuestion(("id",))}))
    (row,) = table.take({"id": 1.5, "o": {"x": 1.5}})
    assert table.types == {"id": "int64", "o": "struct<x: double>"}
    assert row == {"o": {"x": 1.5}, "_rescued": '{"id":1.5}'}


def test_an_integer_that_an_inferred_double_would_round_is_rescued():
    table = Table()
    table.take({"x": 0.5})
    assert table.take({"x": 2**60 + 1}) == [{"_rescued": '{"x":1152921504606846977}'}]


def test_objects_with_ids_for_names_do_not_get_fields_without_end():
    table = Table()
    table.take({"by": {f"c{n}": 1 for n in range(MOST_COLUMNS - 1)}})
    (row,) = table.take({"by": {"x": 1}})
    assert "_rescued" not in row
    rows = table.take({"by": {"y": 1}}, {"new": 1}, {"by": {"c1": 0.5}})
    assert [row.get("_rescued") for row in rows] == ['{"by":{"y":1}}', '{"new":1}', None]
    assert table.restarted().take({"z": 1}) == [{"_rescued": '{"z":1}'}]


def test_rows_that_together_ask_for_more_than_there_is_room_for_ask_once():
    table = Table()
    table.take({"n": 1})
    many = {f"c{n}": 1 for n in range(MOST_COLUMNS // 2)}
    rows = table.take({"by": many}, {"by": {f"d{name}": 1 for name in many}})
    assert all("_rescued" in row for row in rows)
    assert table.types == {"n": "int64"}


def asked_of(table, *values):
    """The one question of a batch."""
    raw = batch(*(json.dumps(value).encode() for value in values))
    (question,) = table.format.plan(table.schemas, table.have, ()).decode(raw).questions
    return question


def test_rows_with_ids_for_names_ask_as_one_for_no_more_than_a_table_has():
    of_object = asked_of(Table(), *({"id": n, "by": {f"u{n}": 1}} for n in range(2000)))
    assert of_object == NewColumnsQuestion((("id", "bigint"),), crowded=("by",))
    at_the_top = asked_of(Table(), *({f"u{n:04}": 1} for n in range(2000)))
    assert at_the_top.columns == tuple((f"u{n:04}", "bigint") for n in range(MOST_COLUMNS))
    in_arrays = asked_of(Table(), {"id": 1, "l": [{f"u{n}": 1} for n in range(2000)]})
    assert in_arrays == NewColumnsQuestion((("id", "bigint"),))


def test_a_name_with_more_fields_than_a_table_has_gets_no_column_and_is_not_asked_again():
    table = Table()
    many = [{"id": n, "by": {f"u{n}": 1}} for n in range(MOST_COLUMNS + 1)]
    assert table.take(*many)[0] == {"id": 0, "_rescued": '{"by":{"u0":1}}'}
    assert table.types == {"id": "int64"}
    assert table.take({"by": {"x": 1}, "n": 1}) == [{"n": 1, "_rescued": '{"by":{"x":1}}'}]
    halves = Table()
    for task in (many[:400], many[400:]):  # of one batch, by two tasks
        raw = batch(*(json.dumps(value).encode() for value in task))
        asked = halves.format.plan(halves.schemas, NOTHING, ()).decode(raw).questions
        halves.schemas = halves.format.resolve(halves.schemas, frozenset(asked))
    assert halves.take(many[0])[0] == {"id": 0, "_rescued": '{"by":{"u0":1}}'}


def test_objects_whose_fields_may_lack_ask_as_one_for_all_of_them():
    names = [f"optional_{n}" for n in range(9)]
    rows = [{"o": {n: 1 for at, n in enumerate(names) if row >> at & 1}} for row in range(1, 512)]
    fields = ", ".join(f"`{name}`: bigint" for name in names)
    assert asked_of(Table(), *rows) == NewColumnsQuestion((("o", f"struct<{fields}>"),))


def test_a_row_asks_for_what_of_it_is_new_alone():
    table = Table()
    table.take({"o": {"x": 1, "many": [{"a": 1}], "s": "t"}})
    row = {"o": {"x": 2, "many": [{"a": 1.5, "b": True}], "s": {"ids": 1}, "y": "new"}}
    kind = "struct<`many`: array<struct<`a`: double, `b`: boolean>>, `y`: string>"
    assert asked_of(table, row) == NewColumnsQuestion((("o", kind),))


def test_a_table_that_refused_too_many_names_asks_for_nothing_more():
    table = Table()
    table.take({f"c{n}": 1 for n in range(MOST_COLUMNS - 1)})
    # Each would fit alone, and their rows together do not.
    table.take(*({f"by{n}": {x: 1}} for n in range(9) for x in "xy"))
    assert len(table.format.plan(table.schemas, table.have, ()).rules.fixed) == 9
    table.take(*({f"by{n}": {x: 1}} for n in range(9, MOST_COLUMNS + 1) for x in "xy"))
    assert table.types.keys().isdisjoint(f"by{n}" for n in range(9))
    assert table.take({"z": 1}) == [{"_rescued": '{"z":1}'}]
    assert table.take({"new": 1}, {"c1": 2, "new": [1]}, {"c1": 0.5}) == [
        {"_rescued": '{"new":1}'},
        {"c1": 2, "_rescued": '{"new":[1]}'},
        {"c1": 0.5},
    ]


def test_a_feed_that_is_to_stop_does_so_with_the_names():
    table = Table(inferring(on_unknown="fail"))
    table.take({"n": 1, "o": {"x": 1}})
    assert table.take({"n": 1.5}) == [{"n": 1.5}]
    raw = batch(b'{"new":1,"o":{"a b":2}}', b'{"n":1}', b'{"new":1}', b"{")
    decoder = table.format.plan(table.schemas, table.have, ())
    found = decoder.decode(raw)
    assert found.questions == (
        UnknownNamesQuestion(("new", 'o."a b"')),
        UnknownNamesQuestion(("new",)),
    )
    with pytest.raises(
        UnknownColumnsError, match=r'declared for: new, o\."a b"\. Declare'
    ) as caught:
        table.format.resolve(table.schemas, frozenset(found.questions))
    assert caught.value.names == ("new", 'o."a b"')


def test_an_error_shows_ten_names_and_how_many_more():
    error = UnknownColumnsError("fitness", [f"n{number}" for number in range(12)])
    assert "n9 and 2 more" in str(error)


def test_it_keeps_the_contract():
    values = [b'{"i":1}', None, b"", b"{", b'{"i":"x"}', b'{"i":1.5,"n":1}', b'{"n":[1]}']
    more = [b'{"o":{"x":1}}', b'{"o":{"y":[]}}', b'{"o":{"X":1}}', b'{"N":2}', b'{"o":{"x":"a"}}']
    check_format(inferring(), batch(*values, *more))


NAMES = st.sampled_from(["a", "b", "o", "l"])

# Types that go together: others, and integers that doubles round, depend on which came first.
SCALARS = st.one_of(st.integers(-9, 9), st.sampled_from([0.5, -2.25]), st.none())
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "n": SCALARS,
            "s": st.one_of(st.text(max_size=3), st.none()),
            "o": st.one_of(
                st.none(),
                st.fixed_dictionaries(
                    {}, optional={"x": SCALARS, "y": st.booleans(), "l": st.just([])}
                ),
            ),
            "l": st.lists(st.one_of(SCALARS), max_size=3),
            "many": st.lists(
                st.fixed_dictionaries({}, optional={"x": SCALARS, "y": st.booleans()}), max_size=2
            ),
        },
    ),
    min_size=1,
    max_size=12,
)


def named(kind):
    if pa.types.is_struct(kind):
        return frozenset((field.name, named(field.type)) for field in kind)
    return (named(kind.value_type),) if pa.types.is_list(kind) else str(kind)


@given(ROWS, st.randoms(use_true_random=False), st.sets(st.integers(1, 11)), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_same_values_make_the_same_columns_whatever_their_order_and_batches(
    rows, by, cuts, restarts
):
    whole = Table()
    whole.take(*rows)
    shuffled = by.sample(rows, len(rows))
    cut = Table()
    at = 0
    for end in sorted({*(end for end in cuts if end < len(rows)), len(rows)}):
        cut.take(*shuffled[at:end])
        cut, at = cut.restarted() if restarts else cut, end
    assert {f.name: named(f.type) for f in whole.have} == {f.name: named(f.type) for f in cut.have}
    # And once the columns are there, the rows are the same, too.
    again = Table(have=whole.have).take(*shuffled)
    assert sorted(map(str, again)) == sorted(map(str, Table(have=whole.have).take(*rows)))


def test_where_types_do_not_go_together_the_earlier_batch_decides():
    """And in a batch numbers before text: no column gets a type that its values do not have."""
    first, second = {"v": 1}, {"v": "a"}
    made = []
    for batches in ([first], [second]), ([second], [first]), ([second, first],):
        table = Table()
        for values in batches:
            table.take(*values)
        made.append(table.types["v"])
    assert made == ["int64", "string", "int64"]


def test_of_names_that_differ_by_case_the_earlier_batch_decides_and_in_a_batch_the_alphabet():
    lower, upper = {"a": 1, "o": {"x": 1}}, {"A": "x", "O": {"y": 1}, "o": {"X": "s"}}
    made = []
    for batches in ([lower], [upper]), ([upper], [lower]), ([upper, lower],), ([lower, upper],):
        table = Table()
        for values in batches:
            table.take(*values)
        made.append(" ".join(sorted(table.types)) + f" {table.types.get('o')}")
    assert made == ["a o struct<x: int64>", "A O None", "A O None", "A O None"]
