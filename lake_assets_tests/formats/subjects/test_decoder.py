"""Rows of several subjects put back where they were."""

from hypothesis import given
from hypothesis import strategies as st

from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.formats.subjects.given import Reader, known

UNO = "message Uno { int32 color = 1; }"
CHESS = "message Chess { int64 elo = 1; }"
READER = Reader("protobuf", known("protobuf", uno={1: UNO}, chess={2: CHESS}))


@given(st.lists(st.tuples(st.sampled_from(["uno", "chess", "none"]), st.integers(1, 9))))
def test_rows_stay_in_their_order_whichever_subjects_they_are_of(rows):
    made = {
        "uno": lambda n: framed(1, message_of(UNO, "Uno", color=n)),
        "chess": lambda n: framed(2, message_of(CHESS, "Chess", elo=n)),
        "none": lambda _: b"",
    }
    expected = {
        "uno": lambda n: {"color": n},
        "chess": lambda n: {"elo": n},
        "none": lambda _: {"empty_value": None},
    }
    values = [made[kind](n) for kind, n in rows]
    assert READER.rows(*values) == [expected[kind](n) for kind, n in rows]
    names = {"uno": "Uno", "chess": "Chess", "none": None}
    assert READER.messages(*values) == [names[kind] for kind, _ in rows]


def test_details_name_the_subject_of_rows_that_were_together_with_others():
    reader = Reader("protobuf", known("protobuf", uno={1: UNO}, chess={2: CHESS}), route=("color",))
    row = framed(2, message_of(CHESS, "Chess", elo=1))
    alone, together = reader.rows(row), reader.rows(row, b"", b"\0\0\0\0\1\0")
    assert alone[0] == together[0]
    assert alone[0]["foreign_message"].startswith("subject chess: message Chess of version 1")
    assert together[2] == {"color": 0}
