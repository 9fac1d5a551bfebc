"""Values without elements: which are refused since something did not fit, and in which words."""

import json
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lake_assets.feeds.functions import NamedFunction
from lake_assets.formats.base import Decoded, Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.transforms import ELEMENT
from lake_assets.silver.arrow_evaluator import Column, StructField
from lake_assets.silver.explosion import Explosion, has_other_types, rescued_of
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selection import Output
from lake_assets.silver.transforming_decoder import TransformingDecoder
from lake_assets_tests.formats.avro.given import datum, framed, record
from lake_assets_tests.formats.framed_rows import bronze
from lake_assets_tests.formats.json_schema.given import document
from lake_assets_tests.formats.json_schema.given import framed as json_framed
from lake_assets_tests.formats.subjects.given import Reader, known
from lake_assets_tests.silver.given import bronze_batch

COLUMNS = (
    "id int, items array<struct<sku: string, amount: int>>, grid array<array<int>>, "
    "basket struct<id: int, inner: struct<codes: array<int>>>"
)

ITEMS = (Column("items"), "items")
GRID = (Column("grid"), "grid")
CODES = (StructField(StructField(Column("basket"), 1), 0), "basket")


def payload(**more):
    return Feed.model_validate(
        {
            "feed": "orders",
            "source": {"kafka": {"topic": "orders"}},
            "payload": more or {"json": {"schema": COLUMNS}},
        }
    )


def decoder_of(feed):
    decoding = format_of(feed, Surroundings(registry_access=RegistryAccess()))
    return decoding.plan(decoding.newest(), pa.schema([]), ())


def exploding(feed, inner, array, *, refuses=True):
    node, holder = array
    explosion = Explosion(
        array=node,
        holder=holder,
        columns=pa.schema([("item", pa.null()), (ELEMENT, pa.int32())]),
        rescued=rescued_of(feed.payload),
        has_other_types=has_other_types(feed.payload),
        refuses_unfit=refuses,
    )
    number = Output(name=ELEMENT, kind=pa.int32(), node=Column(ELEMENT))
    columns = pa.schema([(ELEMENT, pa.int32())])
    return SelectingDecoder(inner=inner, outputs=(number,), columns=columns, explosion=explosion)


def answers(decoder, *values):
    """Of each value's first row the number, the reason and the detail."""
    texts = [v if isinstance(v, bytes | None) else json.dumps(v).encode() for v in values]
    found = []
    for computed in decoder.computed(bronze_batch(*texts)):
        decoded = computed.decoded
        columns = (computed.made[ELEMENT], decoded.reason, decoded.detail)
        found += zip(*(column.to_pylist() for column in columns), strict=True)
    return [row for row in found if not row[0]]


def of_json(array, *values, **more):
    feed = payload(**more)
    return answers(exploding(feed, decoder_of(feed), array), *values)


def test_an_array_of_which_one_element_does_not_fit_is_refused_by_that_element():
    good, bad = {"sku": "a", "amount": 1}, {"sku": "b", "amount": "two"}
    found = of_json(ITEMS, {"items": [good, bad]}, {"items": [good]}, {"items": "none"})
    assert found == [
        (None, "type_mismatch", 'element 1: items[].amount is no int: "two"'),
        (0, None, None),
        (
            None,
            "type_mismatch",
            'items is no array<struct<sku: string, amount: int>>: "none"',
        ),
    ]


@pytest.mark.parametrize(
    "value", [{}, {"items": None}, {"items": []}, {"items": None, "id": "x"}, {"colour": [1]}]
)
def test_an_array_that_is_null_or_empty_by_itself_is_none(value):
    assert of_json(ITEMS, value) == [(None, None, None)]


def test_an_array_that_lost_only_what_nobody_declared_has_its_elements():
    assert of_json(ITEMS, {"items": [{"sku": "a", "colour": "red"}]}) == [(0, None, None)]


def test_the_item_of_an_inner_array_is_told_by_its_outer_one():
    found = of_json(GRID, {"grid": [[1], [2], [3, "x"]]}, {"grid": [[1], None, []]})
    words = 'element 2: grid[] is no array<int>: [3,"x"]'
    assert found == [(None, "type_mismatch", words), (0, None, None)]


@pytest.mark.parametrize(
    ("basket", "words"),
    [
        ({"inner": {"codes": [1, 2.5]}}, "element 1: basket.inner.codes[] is no int: 2.5"),
        ({"inner": {"codes": 7}}, "basket.inner.codes is no array<int>: 7"),
        ({"inner": 7}, "basket.inner is no struct<codes: array<int>>: 7"),
        ("x", 'basket is no struct<id: int, inner: struct<codes: array<int>>>: "x"'),
        ({"id": "x", "inner": {"codes": None}}, None),
        ({"id": "x", "inner": None}, None),
        ({"id": "x", "inner": {"colour": [1]}}, None),
        (None, None),
    ],
)
def test_an_array_in_structs_is_looked_for_along_them(basket, words):
    ((_, reason, detail),) = of_json(CODES, {"basket": basket, "id": "x"})
    assert (reason, detail) == ("type_mismatch" if words else None, words)


def test_rows_that_were_refused_or_asked_keep_their_answer():
    found = of_json(ITEMS, b"no json", None, {"items": "x"})
    assert [reason for _, reason, _ in found] == ["undecodable", "empty_value", "type_mismatch"]


def test_where_values_without_elements_stay_nothing_is_refused():
    feed = payload()
    decoder = exploding(feed, decoder_of(feed), ITEMS, refuses=False)
    assert answers(decoder, {"items": "x"}) == [(None, None, None)]


def test_a_text_that_is_called_as_what_did_not_fit_is_not_read():
    feed = payload(json={"schema": COLUMNS, "on_mismatch": "quarantine", "on_unknown": "ignore"})
    assert rescued_of(feed.payload) == ()


def test_the_array_of_a_body_is_looked_for_among_what_did_not_fit_of_bodies():
    wrapped = {"column": "body", "prefix": "b_", "json": {"schema": "items array<int>"}}
    given = {"json": {"schema": "body binary, items array<int>"}, "wrapped": wrapped}
    body = "eyJpdGVtcyI6WzEsIngiXX0="  # {"items":[1,"x"]}
    (found,) = of_json((Column("b_items"), "b_items"), {"body": body}, **given)
    assert found == (None, "type_mismatch", 'element 1: b_items[] is no int: "x"')
    (found,) = of_json((Column("items"), "items"), {"body": body}, **given)
    assert found == (None, None, None)


def codes_of(rows):
    """As a feed's function may make an array: of the text of a number."""
    texts = rows["points"].cast(pa.string())
    return rows.append_column("codes", pc.split_pattern(texts, ","))


def behind(inner, function):
    gives = inner.columns.append(pa.field("codes", pa.list_(pa.string())))
    name = NamedFunction(f"{__name__}:{function.__name__}")
    return TransformingDecoder(
        inner=inner, function=name, takes=inner.columns, gives=gives, columns=gives
    )


def of_function(*values, **more):
    feed = payload(**more)
    decoder = behind(decoder_of(feed), codes_of)
    return answers(exploding(feed, decoder, (Column("codes"), "codes")), *values)


def test_behind_a_function_whatever_did_not_fit_is_why_there_is_no_element():
    schema = {"json": {"schema": "points int, at struct<x: int>"}}
    values = [{"points": 1}, {"points": "1"}, {}, {"odd": 1}, {"at": {"x": "x"}}]
    found = of_function(*values, {"points": 1, "at": "x"}, **schema)
    told = "; the transform made no elements of codes"
    assert found == [
        (0, None, None),
        (None, "type_mismatch", f'points is no int: "1"{told}'),
        (None, None, None),
        (None, None, None),
        (None, "type_mismatch", f'at.x is no int: "x"{told}'),
        (0, None, None),
    ]


def test_behind_a_function_so_is_a_whole_record_of_csv():
    found = of_function(b"1,2", b",2,3", b"x,2", csv={"schema": "points int, more int"})
    told = "; the transform made no elements of codes"
    assert [detail for _, _, detail in found] == [
        None,
        f"the record has more or fewer fields than there are columns{told}",
        f'points is no int: "x"{told}',
    ]


TEXT = pa.struct([("member1", pa.string())])


@dataclass(frozen=True)
class Given:
    """A decoder of rows that were decoded elsewhere: of Avro, say."""

    rows: pa.RecordBatch
    columns: pa.Schema
    unused: tuple[pa.Field, ...] = ()

    def decode(self, _):
        none, unasked = (pa.nulls(self.rows.num_rows, t) for t in (pa.string(), pa.int32()))
        return Decoded(columns=self.rows, reason=none, detail=none, question=unasked)


def of_avro(array, rows, schema, function=None):
    feed = payload(avro={"subject": "orders-value"})
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    given = Given(batch, schema)
    decoder = exploding(feed, behind(given, function) if function else given, array)
    return [detail for _, _, detail in answers(decoder, *rows)]


def test_an_array_of_avro_whose_value_is_of_another_type_is_refused_too():
    schema = pa.schema([("items", pa.list_(pa.int32())), ("items_other_types", TEXT)])
    rows = [{"items": [1]}, {"items": None}, {"items_other_types": {"member1": "a"}}, {"items": []}]
    told = "items is of a type that is in items_other_types"
    assert of_avro(ITEMS, rows, schema) == [None, None, told, None]


def test_so_is_one_in_records_that_are_of_another_type():
    codes = [("codes", pa.list_(pa.int32())), ("codes_other_types", TEXT)]
    inner = [("id", pa.int32()), ("inner", pa.struct(codes)), ("inner_other_types", TEXT)]
    schema = pa.schema([("basket", pa.struct(inner)), ("basket_other_types", TEXT)])
    other = {"member1": "a"}
    rows = [
        {"basket_other_types": other},
        {"basket": {"inner_other_types": other}},
        {"basket": {"inner": {"codes_other_types": other}}},
        {"basket": {"inner": {"codes": None}}},
        {},
    ]
    told = [f"{n} is of a type that is in {n}_other_types" for n in ("basket", "basket.inner")]
    last = "basket.inner.codes is of a type that is in basket.inner.codes_other_types"
    assert of_avro(CODES, rows, schema) == [*told, last, None, None]


def test_behind_a_function_any_value_of_another_type_counts():
    at = pa.struct([("x", pa.int32()), ("x_other_types", TEXT)])
    schema = pa.schema([("points", pa.int32()), ("points_other_types", TEXT), ("at", at)])
    other = {"member1": "a"}
    rows = [{"points_other_types": other}, {"at": {"x_other_types": other}}, {"at": {"x": 1}}]
    found = of_avro((Column("codes"), "codes"), rows, schema, codes_of)
    made = "; the transform made no elements of codes"
    told = [f"{n} is of a type that is in {n}_other_types{made}" for n in ("points", "at.x")]
    assert found == [*told, None]


@pytest.mark.parametrize("language", ["avro", "json"])
def test_an_array_whose_name_has_its_type_is_looked_for_under_that(language):
    if language == "json":
        some = [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]
        text, array = (document(x=one) for one in some)
        schemas = known("json", a={1: text}, b={2: array})
        values = [json_framed(1, {"x": "a"}), json_framed(2, {"x": [1, "b"]})]
        words = 'element 1: x_array[] is no bigint: "b"'
    else:
        array = {"type": "array", "items": "int"}
        text, older, newer = (record(("x", one)) for one in ("string", array, [array, "string"]))
        schemas = known("avro", a={1: text}, b={2: older, 3: newer})
        rows = (1, text, {"x": "a"}), (3, newer, {"x": "b"})
        values = [framed(number, datum(schema, row)) for number, schema, row in rows]
        words = "x_array is of a type that is in x_array_other_types"
    declared = {language: {"subjects": ["a", "b"]}}
    reader = Reader(language, schemas)
    reader.read(*values)
    explosion = exploding(payload(**declared), reader.decoder, (Column("x_array"), "x_array"))
    found = [one.decoded for one in explosion.computed(bronze(*values))]
    told = [row for one in found for row in one.detail.to_pylist()]
    assert told == [None, words]
