"""What a masked column leaves in clear in silver: nothing. Without Spark, as `*` selects."""

import json

import pyarrow as pa
import pytest

from lake_assets.formats.csv.payload_format import CsvFormat
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.model.feeds import Feed
from lake_assets.model.transforms import Mask
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selected_columns import masks_of
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selection import Output

KEY = b"a key of sixteen or more"


def read(payload, mask, *values, renamed=None):
    declared = {"feed": "f", "source": {"kafka": {"topic": "t"}}, "payload": payload, "mask": mask}
    feed = Feed.model_validate(declared)
    formats = CsvFormat if feed.payload.csv else JsonFormat
    given = formats("f", feed.payload.csv or feed.payload.json_)
    inner = given.plan(given.newest(), pa.schema([]), ())
    names = {column.name: (renamed or {}).get(column.name, column.name) for column in inner.columns}
    outputs = tuple(
        Output(name=names[one.name], kind=one.type, source=one.name, reads=(one.name,))
        for one in inner.columns
    )
    columns = pa.schema([pa.field(one.name, one.kind) for one in outputs])
    masks = masks_of(feed, outputs, columns, KEY)
    decoder = SelectingDecoder(inner=inner, outputs=outputs, columns=columns, masks=masks)
    rows = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})
    return decoder.decode(rows).columns.to_pylist()


def test_a_record_of_csv_that_is_rescued_as_a_whole():
    (row,) = read({"csv": {"schema": "id int, card string"}}, {"card": "last4"}, b"2,4111,extra")
    assert json.loads(row["_rescued"]) == {"_record": "***"}


def test_a_column_is_masked_in_whichever_case_it_is_named():
    payload = {"json": {"schema": "id int, Email string"}}
    (row,) = read(payload, {"email": "redact"}, b'{"id": 1, "Email": "ann@example.com"}')
    assert row["Email"] == "***"


@pytest.mark.parametrize("name", ["mail", "MAIL"])
def test_what_does_not_fit_is_hidden_under_another_name_of_the_rescued_column(name):
    value = json.dumps({"id": 2, name: ["ann@example.com"]}).encode()
    payload = {"json": {"schema": "id int, mail string"}}
    (row,) = read(payload, {"mail": "redact"}, value, renamed={"_rescued": "rest"})
    assert json.loads(row["rest"]) == {name: "***"}


def test_the_rescued_column_may_be_masked_itself():
    payload = {"json": {"schema": "id int"}}
    values = b'{"id": 1}', b'{"id": 2, "ssn": "123-45-6789"}'
    rows = read(payload, {"_rescued": "redact"}, *values)
    assert [row["_rescued"] for row in rows] == [None, "***"]


def test_behind_a_function_all_that_is_rescued_is_hidden():
    rows = pa.RecordBatch.from_pydict({"_rescued": ['{"phone":4712345678}', None]})
    masks = Masks(hidden_names=frozenset({"contact"}), hides_rescued=True)
    assert masks.without_rescued(rows)["_rescued"].to_pylist() == ["***", None]


def test_a_column_that_no_row_has_used_yet_is_not_looked_for():
    rows = pa.RecordBatch.from_pydict({"id": [1]})
    masks = Masks(by_column={"mail": Mask.REDACT})
    assert masks.masked(rows) == rows
