import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lake_assets.erasure.wanted import Wanted, ensure_sensible, equal_to, patterns_of
from lake_assets.errors import ErasureError


@pytest.mark.parametrize(
    ("value", "kind", "has"),
    [
        ("ann", pa.string(), ["ann"]),
        ("007", pa.int64(), [7]),
        ("007", pa.string(), ["007"]),
        ("1", pa.string(), ["1"]),
        ("1", pa.int64(), [1]),
        ("1", pa.binary(), [b"1"]),
        ("3132", pa.binary(), [b"3132"]),
        ("0x3132", pa.binary(), [b"0x3132", b"12"]),
        ("01FF", pa.binary(), [b"01FF", b"\x01\xff"]),
        ("300", pa.int8(), []),
        ("-5", pa.uint16(), []),
        ("ann", pa.int64(), []),
        ("ann", pa.binary(), [b"ann"]),
    ],
)
def test_a_value_is_what_a_column_of_a_type_has(value, kind, has):
    values = equal_to(Wanted(column="who", values=(value,)).spellings(), kind)
    assert values.to_pylist() == has
    assert values.type == kind


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.timestamp("us"), pa.bool_(), pa.list_(pa.int8())]
)
def test_columns_of_other_types_tell_nobody(kind):
    assert equal_to(["1"], kind) is None


@pytest.mark.parametrize(
    ("value", "text", "is_there"),
    [
        ("ann.x@y", b'{"a":"ann.x@y"}', True),
        ("ann.x@y", b'{"a":"annzx@y"}', False),
        ("mu\u0308ller\u00e9", b'{"a":"mu\\u0308ller\\u00e9"}', True),
        ('a"b\\cd', b'{"a":"a\\"b\\\\cd"}', True),
        ("ann", b"\x0a\x03ann", True),
        ("ann", b"joanna", False),
        ("anna", b"\x0a\x06joanna\x10\x05", False),
        ("anna", b"\x0a\x04annaz", True),
        ("anna", b"\x08annaz", True),
        ("a" * 200, b"\x0a\xc8\x01" + b"a" * 200 + b"z", True),
        ("12", b'{"id":12}', True),
        ("12", b'{"id":123}', False),
        ("(x)[y]*", b"..(x)[y]*..", True),
    ],
)
def test_a_value_is_found_patterns_of_a_payload(value, text, is_there):
    (pattern,) = patterns_of([value])
    assert pc.match_substring_regex(pa.array([text]), pattern).to_pylist() == [is_there]


def test_many_values_are_several_patterns_of_a_bounded_length():
    patterns = patterns_of(f"value-{number}" for number in range(1000))
    assert len(patterns) > 1
    assert max(map(len, patterns)) < 9000
    last = pa.array(['{"a":"value-999"}'])
    assert any(pc.match_substring_regex(last, one).to_pylist()[0] for one in patterns)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (Wanted(column=" ", values=("a",)), "--column: is empty"),
        (Wanted(column="who", values=()), "names no value"),
        (Wanted(column="who", values=("a", " ")), "a value of who: is empty"),
    ],
)
def test_what_nobody_can_mean_is_refused(wanted, complaint):
    with pytest.raises(ErasureError, match=complaint):
        ensure_sensible(wanted)


def test_no_value_is_shown_by_what_holds_it():
    assert "ann" not in repr(Wanted(column="who", values=("ann",)))
