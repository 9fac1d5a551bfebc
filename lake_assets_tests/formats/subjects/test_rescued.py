"""Names of what did not fit, where columns have others."""

import json

import pyarrow as pa
import pytest

from lake_assets.formats.subjects.rescued import rescued_in_feed
from lake_assets.silver.mask_values import HIDDEN, Masks
from lake_assets_tests.formats.json_schema.given import document, framed
from lake_assets_tests.formats.subjects.given import Reader, known


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, None),
        ('{"id":"x"}', '{"id_int":"x"}'),
        ('{"other":{"id":1e400}}', '{"other":{"id":1e400}}'),
        ('{"id":"x","id_int":7,"id_int_":8}', '{"id_int":"x","id_int__":7,"id_int_":8}'),
        ('{"id_int":7}', '{"id_int":7}'),
    ],
)
def test_what_did_not_fit_is_called_as_its_column(text, told):
    (found,) = rescued_in_feed(pa.array([text], pa.string()), {"id": "id_int"}).to_pylist()
    assert found == told


def test_what_did_not_fit_a_hidden_column_of_another_name_is_hidden():
    texts, numbers = (document(id={"type": kind}) for kind in ("string", "integer"))
    reader = Reader("json", known("json", order={1: texts}, refund={2: numbers}))
    found = reader.read(framed(2, {"id": "secret"}), framed(1, {"id": 7})).columns
    hidden = Masks(hidden_names=frozenset({"id_bigint"})).without_rescued(found)
    assert list(map(json.loads, hidden["_rescued"].to_pylist())) == [
        {"id_bigint": HIDDEN},
        {"id": 7},
    ]
