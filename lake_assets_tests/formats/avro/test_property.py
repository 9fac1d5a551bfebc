"""Random schemas, evolutions and values, compared with what Apache's own reader reads."""

import io
import json
import warnings
from datetime import date, datetime, timedelta
from typing import Any

import avro.io
import avro.schema
import pyarrow as pa
from hypothesis import HealthCheck, given, settings

from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets_tests.formats.avro.given import NOTHING, datum, decode_all, framed, subject
from lake_assets_tests.formats.avro.random_schemas import (
    EPOCH,
    Case,
    Schema,
    a_case,
    micros,
    renamed,
)

PROFILE = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def apache(writer: Schema, reader: Schema, data: bytes) -> Any:
    """What Apache's reader makes of a datum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schemas = [avro.schema.parse(json.dumps(one)) for one in (writer, reader)]
        return avro.io.DatumReader(*schemas).read(avro.io.BinaryDecoder(io.BytesIO(data)))


def expected(schema: Schema, value: Any, kind: pa.DataType) -> Any:  # noqa: C901, PLR0911
    """A value of Apache's as a column of a type has it."""
    if value is None:
        return None
    if isinstance(schema, list):
        branches = [one for one in schema if one != "null"]
        if len(branches) == 1:
            return expected(branches[0], value, kind)
        index = next(i for i, one in enumerate(branches) if is_of(one, value))
        members = dict.fromkeys(one.name for one in kind)
        member = f"member{index}"
        return {**members, member: expected(branches[index], value, kind.field(member).type)}
    name = schema if isinstance(schema, str) else schema["type"]
    if name == "record":
        row = dict.fromkeys(one.name for one in kind)
        for one in schema["fields"]:
            row |= columns_of(one, value[one["name"]], kind)
        return row
    if name == "array":
        return [expected(schema["items"], one, kind.value_type) for one in value]
    if name == "map":
        found = {k: expected(schema["values"], one, kind.item_type) for k, one in value.items()}
        return sorted(found.items())
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_integer(kind) and isinstance(value, date):
        return number_of(value)
    if pa.types.is_date(kind) and isinstance(value, int):
        return date(1970, 1, 1) + timedelta(days=value)
    if pa.types.is_timestamp(kind) and isinstance(value, int):
        return EPOCH + timedelta(milliseconds=value)
    if pa.types.is_binary(kind) and isinstance(value, str):
        return value.encode()
    return micros(value)


def columns_of(field: Any, value: Any, row: pa.DataType) -> dict[str, Any]:
    """A field's value in its column, or in the one beside it."""
    name, kind = field["name"], field["type"]
    inner = row.field(row.get_field_index(name)).type
    beside = row.get_field_index(f"{name}_other_types")
    if beside < 0 or not isinstance(kind, list) or value is None:
        return {name: expected(kind, value, inner)}
    others = [one for one in kind if one in ("string", {"type": "array", "items": "int"})]
    own = [one for one in kind if one not in ("null", *others)]
    if not own:  # it is one of these itself
        first = "string" if pa.types.is_string(inner) else {"type": "array", "items": "int"}
        own, others = [first], [one for one in others if one != first]
    found = next((at for at, one in enumerate(others) if is_of(one, value)), None)
    if found is None:
        return {name: expected(own[0], value, inner)}
    struct = row.field(beside).type
    member = f"member{found + 1}"
    made = expected(others[found], value, struct.field(member).type)
    members = {one.name: None for one in struct}
    return {name: None, f"{name}_other_types": {**members, member: made}}


def number_of(value: date) -> int:
    """The number that a time is in Avro."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(milliseconds=1)
    return (value - date(1970, 1, 1)).days


def is_of(schema: Schema, value: Any) -> bool:
    """Of the types that random unions have."""
    kinds = {"string": str, "long": int}
    return isinstance(value, kinds.get(schema, list) if isinstance(schema, str) else list)


def merged(older: Any, newer: Any) -> Any:
    """What a reader of both versions has: all that the newer reads, and what only the older has."""
    if isinstance(older, dict) and isinstance(newer, dict):
        return {**older, **{k: merged(older.get(k), one) for k, one in newer.items()}}
    if isinstance(older, list) and isinstance(newer, list):
        if older and isinstance(older[0], tuple):
            return [(k, merged(a, b)) for (k, a), (_, b) in zip(older, newer, strict=True)]
        return [merged(a, b) for a, b in zip(older, newer, strict=True)]
    return older if newer is None else newer


def comparable(value: Any) -> Any:
    """Maps in some order."""
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items()}
    if isinstance(value, list):
        found = [comparable(one) for one in value]
        return sorted(found, key=repr) if found and isinstance(found[0], tuple) else found
    return tuple(map(comparable, value)) if isinstance(value, tuple) else value


def rows_of_both(case: Case, have: pa.Schema) -> None:
    known = subject(case.old, case.new)
    old = [datum(case.old, value) for value in case.old_values]
    new = [datum(case.new, value) for value in case.new_values]
    values = [framed(1, one) for one in old] + [framed(2, one) for one in new]
    found = decode_all(known, *values, have=have)
    assert found.detail.to_pylist() == [None] * len(values)
    row = pa.struct(list(found.columns.schema))
    writer = renamed(case.old, case.new)
    wanted = [
        merged(
            expected(writer, apache(writer, writer, one), row),
            expected(case.new, apache(writer, case.new, one), row),
        )
        for one in old
    ]
    wanted += [expected(case.new, apache(case.new, case.new, one), row) for one in new]
    assert comparable(found.columns.to_pylist()) == comparable(wanted)


@PROFILE
@given(a_case())
def test_rows_of_all_versions_are_what_apache_reads_of_them(case: Case) -> None:
    rows_of_both(case, NOTHING)


@PROFILE
@given(a_case())
def test_so_they_are_where_the_tables_have_the_older_columns(case: Case) -> None:
    rows_of_both(case, plan_decoding(subject(case.old), NOTHING).columns)


@PROFILE
@given(a_case())
def test_no_broken_row_changes_another(case: Case) -> None:
    """Each value cut at each byte, or with a byte behind it, among whole ones."""
    whole = [framed(1, datum(case.old, value)) for value in case.old_values]
    cut = [value[:end] for value in whole[:1] for end in range(5, len(value))]
    longer = [value + b"\0" for value in whole[:1]]
    values = [one for broken in [*cut, *longer] for one in (broken, whole[0])]
    found = decode_all(subject(case.old), *values)
    alone = decode_all(subject(case.old), whole[0]).columns
    assert found.reason.to_pylist() == ["undecodable", None] * (len(values) // 2)
    assert found.columns.to_pylist()[1::2] == alone.to_pylist() * (len(values) // 2)
