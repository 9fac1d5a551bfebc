from dataclasses import replace

import pyarrow as pa
import pytest

from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.protobuf.reader_assignment import assign, sole_reader
from lake_assets.formats.questions import MessageQuestion, SchemaIdQuestion
from lake_assets.model.quarantine import Reason
from lake_assets_tests.formats.protobuf.given import NOTHING, asked, schemas

TWO = "message event { string a = 1; } message other { int32 b = 1; }"
KNOWN = schemas(TWO, "message event { int32 c = 1; }").meet([(2, (0,))])
DECODING = plan_decoding(replace(KNOWN, unknown_ids={8}, foreign_ids={9}), NOTHING)


def header(schema_id, path=b"\0"):
    return b"\0" + schema_id.to_bytes(4, "big") + path


def columns(decoding, *rows):
    values, ids = zip(*rows, strict=True)
    return pa.array(values, pa.binary()), pa.array(ids, pa.int64()), decoding


def one(value, schema_id, decoding=DECODING):
    found = assign(*columns(decoding, (value, schema_id)))
    answers = (part[0].as_py() for part in (found.reader, found.reason, found.detail))
    return (*answers, *asked(found))


def test_rows_that_one_reader_reads_need_no_look_at_each():
    assert sole_reader(*columns(DECODING, (header(2), 2), (header(2), 2))) == 0


@pytest.mark.parametrize("row", [(header(2, b"\2\0"), 2), (header(3), 3), (None, 2), (b"", None)])
def test_any_other_row_does(row):
    assert sole_reader(*columns(DECODING, (header(2), 2), row)) is None
    assert sole_reader(*columns(DECODING, row, (header(2), 2))) is None


def test_a_row_has_a_reader_a_reason_or_a_question():
    assert one(header(2), 2) == (0, None, None, None)
    assert one(header(1, b"\2\2"), 1) == (None, None, None, MessageQuestion(1, (1,)))
    assert one(header(5), 5) == (None, None, None, SchemaIdQuestion(5))
    assert one(header(8), 8) == (None, Reason.UNKNOWN_SCHEMA, "schema id 8", None)
    said = "schema id 9 is not of subject s"
    assert one(header(9), 9) == (None, Reason.FOREIGN_SCHEMA, said, None)


def test_a_message_that_the_schema_lacks_is_refused_and_never_asked_about():
    said = "the schema has no message of index 1.7"
    assert one(header(1, b"\4\2\x0e"), 1) == (None, Reason.UNDECODABLE, said, None)


def test_in_a_flood_no_id_is_asked_about():
    flooded = replace(DECODING, is_flooded=True)
    assert one(header(5), 5, flooded) == (None, Reason.UNKNOWN_SCHEMA, "schema id 5", None)
    assert one(header(2), 2, flooded) == (0, None, None, None)
    assert one(b"x", None, flooded) == (None, Reason.NOT_FRAMED, None, None)


def test_the_decoder_gets_every_path_in_short():
    found = assign(*columns(DECODING, (header(2, b"\2\0") + b"x", 2), (b"y", None), (None, None)))
    assert found.values.to_pylist() == [header(2) + b"x", b"y", None]


def test_each_row_has_its_own_question():
    rows = [(header(5), 5), (header(2), 2), (header(1, b"\2\2"), 1), (header(6), 6), (header(5), 5)]
    expected = [SchemaIdQuestion(5), None, MessageQuestion(1, (1,)), SchemaIdQuestion(6)]
    assert asked(assign(*columns(DECODING, *rows))) == [*expected, SchemaIdQuestion(5)]
