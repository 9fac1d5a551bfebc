from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from lake_assets.runtime.protoc import compile_files
from lake_assets.sinks.kafka.field_values import converting, type_name
from lake_assets.sinks.kafka.message_types import MisfitError
from lake_assets.sinks.kafka.message_values import message_class

FIELDS = message_class(
    compile_files(
        "subject",
        {
            "feed.proto": 'syntax = "proto3"; enum E { NONE = 0; WON = 1; } message A {'
            "string text = 1; sint32 short = 2; uint64 long = 3; float real = 4; E kind = 5; }"
        },
    ),
    "A",
).DESCRIPTOR.fields_by_name


@pytest.mark.parametrize(
    ("field", "kind", "value", "expected"),
    [
        ("text", pa.decimal128(5, 2), Decimal("1E+2"), "100"),
        ("text", pa.date32(), date(2026, 11, 27), "2026-11-27"),
        ("text", pa.date32(), "12026-11-27", "12026-11-27"),
        ("long", pa.decimal128(20, 0), Decimal(2**64 - 1), 2**64 - 1),
        ("short", pa.int64(), 7, 7),
        ("kind", pa.string(), "WON", 1),
    ],
)
def test_a_value_is_written_as_its_field_has_it(field, kind, value, expected):
    assert converting(FIELDS[field], kind, field)(value) == expected


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("text", pa.int32()),
        ("short", pa.float64()),
        ("real", pa.float64()),
        ("long", pa.decimal128(20, 1)),
        ("short", pa.bool_()),
    ],
)
def test_a_column_that_would_lose_something_does_not_go_with_a_field(field, kind):
    words = f"{field} is {kind}, and its field .* is {type_name(FIELDS[field])}"
    with pytest.raises(MisfitError, match=words.replace("(", r"\(").replace(")", r"\)")):
        converting(FIELDS[field], kind, field)


def test_a_text_that_an_enum_does_not_have_is_told():
    with pytest.raises(ValueError, match="is 'LOST', which its enum does not have"):
        converting(FIELDS["kind"], pa.string(), "kind")("LOST")
