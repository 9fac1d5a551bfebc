import random
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError

from lake_assets.formats.base import Decoded
from lake_assets.formats.protobuf.arrow import decode
from lake_assets.formats.questions import SchemaIdQuestion
from lake_assets.model.quarantine import Reason
from lake_assets_tests.formats.protobuf.given import asked

HEADER = b"\0\0\0\0\7\0"
ONE = "message event { string a = 1; int32 b = 2; }"
A = HEADER + b"\x0a\x01x"


def _decode(schemas, *rows: tuple[bytes | None, int | None]) -> Decoded:
    values, ids = zip(*rows, strict=True)
    return decode(pa.array(values, pa.binary()), pa.array(ids, pa.int32()), schemas)


def test_good_rows_are_decoded_in_order(compiled):
    found = _decode(compiled(ONE), (A, 7), (HEADER + b"\x0a\x01y\x10\x02", 7))
    assert found.columns.to_pylist() == [{"a": "x", "b": 0}, {"a": "y", "b": 2}]
    assert found.reason.to_pylist() == found.detail.to_pylist() == [None, None]


def test_no_rows_give_no_rows(compiled):
    schemas = compiled(ONE)
    found = decode(pa.array([], pa.binary()), pa.array([], pa.int32()), schemas)
    assert (found.columns.num_rows, len(found.reason)) == (0, 0)
    assert found.columns.schema == schemas.columns


def test_a_message_of_no_bytes_after_its_header_is_a_message(compiled):
    assert _decode(compiled(ONE), (HEADER, 7)).columns.to_pylist() == [{"a": "", "b": 0}]


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        ((None, None), Reason.EMPTY_VALUE, None),
        ((b"", None), Reason.EMPTY_VALUE, None),
        ((b"hello", None), Reason.NOT_FRAMED, None),
        ((A, 8), Reason.UNKNOWN_SCHEMA, "schema id 8"),
        ((A, 9), Reason.FOREIGN_SCHEMA, "schema id 9 is not of subject s"),
        ((A[:-1], 7), Reason.UNDECODABLE, "unexpected EOF"),
        ((A[:5], 7), Reason.UNDECODABLE, "the message index is missing or damaged"),
        (
            (A[:5] + b"\2\2" + A[6:], 7),
            Reason.UNDECODABLE,
            "the schema has no message of index 1",
        ),
    ],
)
def test_a_refused_row_says_why_and_harms_no_other(compiled, row, reason, detail):
    found = _decode(compiled(ONE), (A, 7), row, (A, 7))
    good = {"a": "x", "b": 0}
    assert found.columns.to_pylist() == [good, {"a": None, "b": None}, good]
    assert found.reason.to_pylist() == [None, reason, None]
    assert found.detail.to_pylist() == [None, detail, None]


def test_refusals_of_all_kinds_keep_their_places(compiled):
    rows = [(A, 7), (A[:-1], 7), (None, None), (A, 7), (A, 10), (A[:-1], 7), (A, 7)]
    found = _decode(compiled(ONE), *rows)
    assert found.columns["a"].to_pylist() == ["x", None, None, "x", None, None, "x"]
    assert found.reason.to_pylist() == [
        None,
        "undecodable",
        "empty_value",
        None,
        None,
        "undecodable",
        None,
    ]
    assert asked(found) == [None] * 4 + [SchemaIdQuestion(10), None, None]


def test_a_batch_may_hold_no_good_row(compiled):
    found = _decode(compiled(ONE), (A[:-1], 7), (None, None))
    assert found.columns.to_pylist() == [{"a": None, "b": None}] * 2
    assert found.reason.to_pylist() == ["undecodable", "empty_value"]


def test_the_first_message_may_be_named_at_length(compiled):
    found = _decode(compiled(ONE), (A[:5] + b"\2\0" + A[6:], 7), (A, 7))
    assert found.columns["a"].to_pylist() == ["x", "x"]


def test_slices_and_large_binaries_decode_alike(compiled):
    values = pa.array([None, A, A], pa.large_binary()).slice(1)
    ids = pa.array([None, 7, 7], pa.int64()).slice(1)
    assert decode(values, ids, compiled(ONE)).columns["a"].to_pylist() == ["x", "x"]


def test_newer_messages_decode_with_an_older_schema(compiled):
    assert _decode(compiled(ONE), (A + b"\x18\x05", 7)).columns.to_pylist() == [{"a": "x", "b": 0}]


def test_values_are_those_of_protobuf(compiled, class_of):
    schemas = compiled(
        'import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; '
        'import "google/protobuf/wrappers.proto"; import "google/protobuf/empty.proto"; '
        "enum E { X = 0; Y = 1; } "
        "message event { uint32 u = 1; uint64 v = 2; google.protobuf.Timestamp t = 3; "
        "google.protobuf.Duration d = 4; repeated N n = 5; map<uint32, N> m = 6; "
        "repeated E e = 7; bytes b = 8; oneof o { int32 oi = 9; string os = 10; } "
        "google.protobuf.UInt64Value w = 11; google.protobuf.StringValue x = 12; sint64 s = 13; "
        "google.protobuf.Empty nothing = 14; double f = 15; bool z = 16; } "
        "message N { uint64 v = 1; google.protobuf.Duration d = 2; }"
    )
    message = class_of(schemas)(
        u=2**32 - 1,
        v=2**64 - 1,
        t=datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        n=[{"v": 2**63}, {}],
        m={3: {"v": 4}},
        e=[1, 0, 5],
        b=b"\xff\0",
        os="ü",
        w={"value": 6},
        s=-7,
        f=0.5,
        z=True,
    )
    message.d.FromMicroseconds(-1_500_000)
    message.n[0].d.FromMicroseconds(9)
    message.nothing.SetInParent()
    framed = HEADER + message.SerializeToString()
    (row,) = _decode(schemas, (framed, 7)).columns.to_pylist()
    assert row == {
        "u": 2**32 - 1,
        "v": Decimal(2**64 - 1),
        "t": datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "d": -1_500_000,
        "n": [{"v": Decimal(2**63), "d": 9}, {"v": Decimal(0), "d": None}],
        "m": [(3, {"v": Decimal(4), "d": None})],
        "e": ["Y", "X", "5"],
        "b": b"\xff\0",
        "oi": None,
        "os": "ü",
        "w": Decimal(6),
        "x": None,
        "s": -7,
        "f": 0.5,
        "z": True,
    }


def test_damaged_messages_get_the_verdict_of_google_protobuf(compiled, class_of):
    """Scalars and strings only: `ptars` reads no deeper than the columns need."""
    schemas = compiled("message event { string a = 1; bytes b = 2; sint32 c = 3; double d = 4; }")
    kind = class_of(schemas)
    rng = random.Random(5)  # noqa: S311 - damage, not secrets
    whole = kind(a="abc", b=b"defg", c=-5, d=1.5).SerializeToString()
    damaged = []
    for _ in range(3000):
        bytes_ = bytearray(whole)
        bytes_[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        damaged.append(bytes(bytes_[: rng.randrange(len(whole) + 1)]))
    found = _decode(schemas, *((HEADER + one, 7) for one in damaged))
    for one, row, reason in zip(
        damaged, found.columns.to_pylist(), found.reason.to_pylist(), strict=True
    ):
        try:
            message = kind.FromString(one)
        except DecodeError:
            assert reason == Reason.UNDECODABLE, one.hex()
        else:
            assert reason is None, one.hex()
            assert {name: getattr(message, name) for name in row} == pytest.approx(
                row, nan_ok=True
            ), one.hex()


def test_a_message_of_10_mb_is_a_message_and_cut_short_harms_none(compiled):
    schemas = compiled("message event { bytes a = 1; string b = 2; }")
    large = HEADER + b"\x0a\x80\xad\xe2\4" + bytes(10_000_000) + b"\x12\1x"
    found = _decode(schemas, (large, 7), (large[:-3], 7), (large[:-4], 7), (HEADER, 7))
    assert [len(value or b"") for value in found.columns["a"].to_pylist()] == [10**7, 10**7, 0, 0]
    assert found.detail.to_pylist() == [None, None, "unexpected EOF", None]


def test_random_bytes_behind_a_known_id_harm_none(compiled):
    schemas = compiled(
        "message event { string a = 1; N n = 2; map<string, N> m = 3; repeated N r = 4; } "
        "message N { repeated int32 x = 1; event e = 2; }"
    )
    rng = random.Random(7)  # noqa: S311 - damage, not secrets
    bad = [b"\0\0\0\0\7" + rng.randbytes(rng.randrange(30)) for _ in range(3000)]
    rows = [(value, 7) for one in bad for value in (one, A)]
    found = _decode(schemas, *rows)
    assert found.question.null_count == len(rows)
    assert found.columns["a"].to_pylist()[1::2] == ["x"] * len(bad)
    assert set(found.reason.to_pylist()[1::2]) == {None}
