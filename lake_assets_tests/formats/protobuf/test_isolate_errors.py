from dataclasses import dataclass

import pyarrow as pa
import pytest

from lake_assets.formats.protobuf.decoders import handler_of
from lake_assets.formats.protobuf.isolate_errors import isolate
from lake_assets.formats.protobuf.normalize import Checks, Normal
from lake_assets_tests.formats.protobuf.given import descriptor_set_of

HEADER = b"\0\0\0\0\7\0"
GOOD = HEADER + b"\x08\x01"
TIMES = (
    'import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; '
    "message event { int32 a = 1; google.protobuf.Timestamp t = 2; "
    "repeated google.protobuf.Duration d = 3; map<string, N> m = 4; } "
    "message N { google.protobuf.Timestamp u = 1; }"
)


@pytest.fixture
def handler():
    return handler_of("event", descriptor_set_of(TIMES))


def test_good_messages_are_all_kept(handler):
    found = isolate(handler, pa.array([GOOD] * 3, pa.binary()))
    assert (found.decoded["a"].to_pylist(), found.refused) == ([1, 1, 1], {})


def test_no_messages_give_no_rows(handler):
    found = isolate(handler, pa.array([], pa.binary()))
    assert (found.decoded.num_rows, found.refused) == (0, {})


@pytest.mark.parametrize("total", [1, 2, 3, 7, 64, 100])
def test_a_bad_message_is_found_wherever_it_stands(handler, total):
    for position in range(total):
        messages = [HEADER + b"\x08" + bytes([i]) for i in range(total)]
        messages[position] = HEADER + b"\x08"
        found = isolate(handler, pa.array(messages, pa.binary()))
        assert list(found.refused) == [position]
        assert found.decoded["a"].to_pylist() == [i for i in range(total) if i != position]


def test_bad_messages_alone_are_all_refused(handler):
    found = isolate(handler, pa.array([HEADER + b"\x08"] * 5, pa.binary()))
    assert (found.decoded.num_rows, sorted(found.refused)) == (0, [0, 1, 2, 3, 4])


def test_each_bad_message_has_its_own_complaint(handler):
    messages = [GOOD, HEADER + b"\x08", GOOD, HEADER + b"\x0e", HEADER + b"\x02"]
    assert isolate(handler, pa.array(messages, pa.binary())).refused == {
        1: "unexpected EOF in varint",
        3: "unsupported wire type",
        4: "invalid field number 0",
    }


def test_a_panic_of_the_decoder_refuses_the_message_only(handler, capfd):
    overflowing = HEADER + b"\x12" + b"\xff" * 9 + b"\1"
    found = isolate(handler, pa.array([GOOD, overflowing, GOOD], pa.binary()))
    assert (found.decoded.num_rows, found.refused) == (2, {1: "a length runs over"})
    assert "panicked" in capfd.readouterr().err


@dataclass(frozen=True)
class Guessing(Normal):
    """Refuses to write what it was told to, rightly or not."""

    suspects: frozenset[bytes]

    def rewrite(self, framed):
        return None if framed in self.suspects else framed


MESSAGES = [HEADER + b"\x08" + bytes([i]) for i in range(9)]


@pytest.mark.parametrize("bad", [{0}, {8}, {3, 4}, {0, 2, 8}, set(range(9))])
@pytest.mark.parametrize("suspects", [set(), {0}, {1, 5}, {3, 8}, set(range(9))])
def test_a_wrong_guess_changes_no_verdict(handler, bad, suspects):
    messages = [HEADER + b"\x08" if i in bad else one for i, one in enumerate(MESSAGES)]
    values = pa.array(messages, pa.binary())
    guessing = Guessing(Checks(), "event", b"", frozenset(messages[i] for i in suspects))
    found = isolate(handler, values, guessing)
    assert found.refused == dict.fromkeys(bad, "unexpected EOF in varint")
    assert found.decoded["a"].to_pylist() == [i for i in range(9) if i not in bad]


def test_a_panic_of_another_kind_is_quoted():
    class PanicException(BaseException):
        pass

    class Panicking:
        def array_to_record_batch(self, values: pa.Array) -> pa.RecordBatch:
            if len(values):
                raise PanicException("no idea")
            return pa.RecordBatch.from_pylist([], schema=self.schema())

        def schema(self) -> pa.Schema:
            return pa.schema([])

    found = isolate(Panicking(), pa.array([GOOD], pa.binary()))
    assert found.refused == {0: "the decoder gives up on it (no idea)"}


def test_other_grave_errors_are_not_swallowed():
    class Interrupted:
        def array_to_record_batch(self, _: pa.Array) -> pa.RecordBatch:
            raise KeyboardInterrupt

        def schema(self) -> pa.Schema:
            return pa.schema([])

    with pytest.raises(KeyboardInterrupt):
        isolate(Interrupted(), pa.array([GOOD], pa.binary()))


@pytest.mark.parametrize(
    ("seconds", "is_fine"),
    [
        (-62135596800, True),
        (-62135596801, False),
        (253402300799, True),
        (253402300800, False),
        (2**62, False),
        (-(2**62), False),
    ],
)
def test_a_timestamp_must_lie_in_the_years_1_to_9999(handler, class_of, compiled, seconds, is_fine):
    message = class_of(compiled(TIMES))()
    message.t.seconds = seconds
    found = isolate(handler, pa.array([GOOD, HEADER + message.SerializeToString()], pa.binary()))
    assert found.refused == ({} if is_fine else {1: "t: not between the years 1 and 9999"})


def test_a_nested_timestamp_is_judged_too(handler, class_of, compiled):
    message = class_of(compiled(TIMES))()
    message.m["k"].u.seconds = 2**40
    found = isolate(handler, pa.array([GOOD, HEADER + message.SerializeToString()], pa.binary()))
    assert found.refused == {1: "m: not between the years 1 and 9999"}


def test_a_duration_is_at_most_10000_years(handler, class_of, compiled):
    message = class_of(compiled(TIMES))()
    message.d.add().seconds = 315_576_000_001
    found = isolate(handler, pa.array([GOOD, HEADER + message.SerializeToString()], pa.binary()))
    assert found.refused == {1: "d: longer than 10,000 years"}


@pytest.mark.parametrize(
    "message",
    [
        b"\x0a\2\xff\xfe",
        b"\x12\2\xff\xfe",
        b"\x1a\4\x0a\2\xff\xfe",
        b"\x22\4\x0a\2\xff\xfe",
        b"\x22\4\x12\2\xff\xfe",
        b"\x2a\4\x0a\2\xff\xfe",
    ],
)
def test_strings_must_be_utf8_wherever_they_stand(message):
    body = (
        'import "google/protobuf/wrappers.proto"; message event { string s = 1; '
        "repeated string r = 2; N n = 3; map<string, string> m = 4; "
        "google.protobuf.StringValue w = 5; } message N { string t = 1; }"
    )
    handler = handler_of("event", descriptor_set_of(body))
    found = isolate(handler, pa.array([HEADER, HEADER + message, HEADER], pa.binary()))
    assert (found.decoded.num_rows, found.refused) == (2, {1: "invalid UTF-8"})


def test_bytes_need_not_be_utf8():
    handler = handler_of("event", descriptor_set_of("message event { bytes s = 1; }"))
    found = isolate(handler, pa.array([HEADER + b"\x0a\2\xff\xfe"], pa.binary()))
    assert found.decoded["s"].to_pylist() == [b"\xff\xfe"]


def test_bad_messages_have_good_ones_far_from_them_read_as_they_are(handler):
    """Whatever pieces the messages are looked at in, the verdicts are the same."""
    bad = {0, 1, 511, 512, 2000}
    values = [HEADER + b"\x08" + (b"" if at in bad else bytes([at % 100])) for at in range(2001)]
    written = []

    class Noting(Guessing):
        def rewrite(self, framed):
            written.append(framed)
            return super().rewrite(framed)

    normal = Noting(Checks(), "event", b"", frozenset({HEADER + b"\x08"}))
    found = isolate(handler, pa.array(values, pa.binary()), normal)
    assert found == isolate(handler, pa.array(values, pa.binary()))
    assert found.refused == dict.fromkeys(sorted(bad), "unexpected EOF in varint")
    assert found.decoded["a"].to_pylist() == [at % 100 for at in range(2001) if at not in bad]
    assert len(written) < 2001
