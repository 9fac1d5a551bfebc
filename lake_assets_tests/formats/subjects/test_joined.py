"""Parts of a batch, each with columns of its own, put back where their rows were."""

from dataclasses import replace

import pyarrow as pa

from lake_assets.formats.base import Decoded
from lake_assets.formats.questions import MessageQuestion, SchemaIdQuestion
from lake_assets.formats.subjects.joined import Joined, with_columns

COLUMNS = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.date32())])


def part(rows, **more):
    columns = pa.RecordBatch.from_pylist(rows)
    nothing = pa.nulls(len(rows), pa.string())
    given = {"reason": nothing, "detail": nothing, "question": pa.nulls(len(rows), pa.int32())}
    return Decoded(columns=columns, **{**given, **more})


def test_columns_come_from_the_parts_that_have_them():
    joined = Joined(COLUMNS, 5)
    joined.add(part([{"a": 1}, {"a": 2}]), pa.array([3, 0]))
    asked = {"question": pa.array([None, 0], pa.int32()), "questions": (MessageQuestion(7, (0,)),)}
    other = part([{"b": "x", "a": 3}, {"b": None, "a": None}], **asked)
    joined.add(other, pa.array([4, 1]))
    nothing = pa.nulls(5, pa.string())
    ids = pa.array([None, None, 9, None, None], pa.int64()).dictionary_encode()
    found = joined.with_others(nothing, nothing, ids)
    assert found.columns.to_pydict() == {
        "a": [2, None, None, 1, 3],
        "b": [None, None, None, None, "x"],
        "c": [None] * 5,
    }
    assert found.columns.schema == COLUMNS
    questions = [
        None if one is None else found.questions[one] for one in found.question.to_pylist()
    ]
    assert questions == [None, MessageQuestion(7, (0,)), SchemaIdQuestion(9), None, None]


def test_rows_of_one_part_alone_get_the_other_columns():
    rows = pa.RecordBatch.from_pylist([{"b": "x"}, {"b": "y"}])
    got = with_columns(rows, COLUMNS)
    assert got.schema == COLUMNS
    assert got.to_pydict() == {"a": [None] * 2, "b": ["x", "y"], "c": [None] * 2}
    assert with_columns(rows.slice(0, 0), COLUMNS).num_rows == 0


def test_rows_of_a_part_without_columns_are_there_too():
    """As those of a message type whose fields nobody has used yet."""
    none = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
    decoded = replace(part([{}, {}]), columns=none)
    assert with_columns(decoded.columns, COLUMNS).to_pydict() == {
        name: [None] * 2 for name in "abc"
    }
    joined = Joined(COLUMNS, 2)
    joined.add(decoded, pa.array([1, 0]))
    nothing = pa.nulls(2, pa.string())
    found = joined.with_others(nothing, nothing, pa.nulls(2, pa.int64()).dictionary_encode())
    assert found.columns.num_rows == 2
