import pyarrow as pa
import pytest

from lake_assets.formats.base import Decoded
from lake_assets.formats.questions import SchemaIdQuestion
from lake_assets.silver.kept_rows import decoded_of, kept


@pytest.mark.parametrize("names", [[], ["value"], ["a", "value"]])
def test_what_was_kept_comes_back_as_it_was(names):
    batch = pa.record_batch({"value": [b"x", b"y", b"z"]})
    table = pa.table({"a": [1, None, 3], "value": ["p", None, "q"]}).select(names)
    columns = table.to_batches()[0] if names else batch.select([])
    asked = SchemaIdQuestion(7)
    decoded = Decoded(
        columns=columns,
        reason=pa.array([None, "undecodable", None], pa.string()),
        detail=pa.array([None, "why", None], pa.string()),
        question=pa.array([None, None, 0], pa.int32()),
        questions=(asked,),
        message=pa.array([1, None, None], pa.int64()),
        messages=("A", "B"),
    )
    found = decoded_of(kept(batch, decoded, ["value"]), names)
    assert (found.columns.num_rows, found.columns.to_pylist()) == (3, columns.to_pylist())
    assert found.reason.to_pylist() == decoded.reason.to_pylist()
    assert [q is not None and found.questions[q] for q in found.question.to_pylist()] == [
        False,
        False,
        asked,
    ]
    assert found.message is not None
    assert [m if m is None else found.messages[m] for m in found.message.to_pylist()] == [
        "B",
        None,
        None,
    ]
