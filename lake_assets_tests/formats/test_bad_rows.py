"""Rows without value, of which their source says why."""

import pyarrow as pa
import pytest

from lake_assets.formats.bad_rows import with_problems
from lake_assets.formats.csv.decoder import CsvDecoder
from lake_assets.formats.csv.records import Dialect
from lake_assets.model.misfits import OnMismatch

FIELDS = pa.schema([pa.field("bpm", pa.int32())])


@pytest.fixture
def decoder():
    return CsvDecoder(
        columns=FIELDS, fields=FIELDS, dialect=Dialect(), on_mismatch=OnMismatch.QUARANTINE
    )


def rows(values, problems=None):
    columns = {"value": pa.array(values, pa.binary())}
    if problems is not None:
        columns["_problem"] = pa.array(problems, pa.string())
    return pa.record_batch(columns)


def test_what_a_source_says_of_a_row_is_its_reason(decoder):
    decoded = decoder.decode(rows([b"1", None, b"", b"x"], [None, "file a: vanished", None, None]))
    assert decoded.columns["bpm"].to_pylist() == [1, None, None, None]
    reasons = decoded.reason.to_pylist()
    assert (reasons[:2], decoded.detail[1].as_py()) == ([None, "bad_file"], "file a: vanished")
    assert reasons[2:] == ["empty_value", "type_mismatch"]


def test_rows_of_a_source_that_says_nothing_stay_as_they_are(decoder):
    for batch in (rows([b"1", None]), rows([b"1", None], [None, None])):
        decoded = decoder.decode(batch)
        assert with_problems(batch, decoded) is decoded
        assert decoded.reason.to_pylist() == [None, "empty_value"]
