import json

import pyarrow as pa
import pytest

from lake_assets.errors import FeedError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.formats.tombstones import with_tombstones
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed

NO_COLUMNS = pa.schema([])


def format_with(by, schema="id bigint, shop string, name string"):
    feed = Feed.model_validate(
        {
            "feed": "customers",
            "source": {"kafka": {"topic": "customers"}},
            "payload": {"json": {"schema": schema}},
        }
    )
    inner = format_of(feed, Surroundings(registry_access=RegistryAccess()))
    return with_tombstones("customers", by, inner)


def decoded(by, *rows, **more):
    made = format_with(by, **more)
    decoder = made.plan(made.newest(), NO_COLUMNS, ())
    names = [*decoder.columns.names]
    batch = pa.RecordBatch.from_pylist(
        [{"key": key, "value": value} for key, value in rows],
        schema=pa.schema([("key", pa.binary()), ("value", pa.binary())]),
    )
    answer = decoder.decode(batch)
    assert answer.columns.schema.names == names
    outcome = zip(
        answer.columns.to_pylist(),
        answer.reason.to_pylist(),
        answer.detail.to_pylist(),
        strict=True,
    )
    return [
        reason or {name: value for name, value in row.items() if value is not None}
        for row, reason, _ in outcome
    ], answer.detail.to_pylist()


@pytest.mark.parametrize(
    "key",
    [
        {"id": 7},
        {"id": 7, "more": None},
        {"schema": {"type": "struct"}, "payload": {"id": 7}},
        7,
        "7",
        {"schema": {"type": "int64"}, "payload": 7},
        {"schema": {"type": "string"}, "payload": "7"},
    ],
)
def test_a_key_tells_the_row_that_its_tombstone_deletes(key):
    rows, _ = decoded(("id",), (json.dumps(key).encode(), None))
    assert rows == [{"id": 7, "_tombstone": True}]


def test_a_key_may_be_of_several_columns():
    key = json.dumps({"id": 9007199254740993, "shop": "nord"}).encode()
    rows, _ = decoded(("shop", "id"), (key, None), (b"7", None))
    assert rows == [{"id": 9007199254740993, "shop": "nord", "_tombstone": True}, "empty_value"]


@pytest.mark.parametrize(
    "text", ["ann", "a b", '"ann', "{", "007", "7", "7.50", " 7", "true", "NaN", "", "ä"]
)
def test_of_text_a_key_is_taken_as_it_is(text):
    rows, _ = decoded(("name",), (text.encode(), None))
    assert rows == [{"name": text, "_tombstone": True}]


@pytest.mark.parametrize(
    "key", [b"\xff", b"seven", b"{}", b'{"id": null}', b'{"id": [7]}', b'{"id": 1e30}', b"[7]"]
)
def test_what_a_key_does_not_tell_is_refused(key):
    rows, details = decoded(("id",), (key, None), (b"7", b'{"id": 7}'))
    assert rows == ["empty_value", {"id": 7}]
    assert details == ["its key does not tell id", None]


@pytest.mark.parametrize(
    "key",
    [
        b'"\\ud800"',
        b'{"name": "\\ud800"}',
        b'{"name": "a\\udc00b"}',
        b'{"schema": null, "payload": "\\ud800"}',
        b"\0\0\0\0\x07\x06abc",
        b'\0\0\0\0\x07{"name":"abc"}',
        b"\0\0\0\0\x07\0\n\x03abc",
        b"\0\0\0\0\0\0\0\x07",
        "a\x85b".encode(),
        b"null",
        b"[7]",
        b"{}",
        b'{"schema": {"type": "array"}, "payload": [7]}',
        b'{"schema": {"type": "string"}, "payload": null}',
        b'{"key": "abc"}',
    ],
)
def test_of_text_too_a_key_that_tells_nothing_is_refused_and_no_other(key):
    rows, details = decoded(("name",), (b"ann", None), (key, None), (b'"\\ud83d\\ude00"', None))
    assert rows == [
        {"name": "ann", "_tombstone": True},
        "empty_value",
        {"name": "\U0001f600", "_tombstone": True},
    ]
    first, refused, last = details
    assert (first, last) == (None, None)
    assert refused.startswith("its key does not tell name")
    assert ("it is framed" in refused) == key.startswith(b"\0")


def test_rows_that_are_no_tombstones_are_as_before():
    rows, _ = decoded(
        ("id",), (b"1", b'{"id": 1, "name": "ann"}'), (None, None), (b"2", b""), (b"3", b"no")
    )
    assert rows == [{"id": 1, "name": "ann"}, "empty_value", "empty_value", "undecodable"]


def test_what_quarantine_kept_without_its_key_stays_there():
    made = format_with(("id",))
    decoder = made.plan(made.newest(), NO_COLUMNS, ())
    batch = pa.RecordBatch.from_arrays([pa.nulls(1, pa.binary())], names=["value"])
    assert decoder.decode(batch).reason.to_pylist() == ["empty_value"]


def test_after_a_restart_the_tables_columns_are_the_same():
    made = format_with(("id",))
    first = made.plan(made.newest(), NO_COLUMNS, ()).columns
    assert made.plan(made.newest(), first, ()).columns == first


@pytest.mark.parametrize(
    ("by", "schema", "fact"),
    [
        (("ident",), "id bigint", "ident, which is no column"),
        (("id",), "id struct<a: bigint>", "id, which is struct"),
        (("id",), "id bigint, _tombstone boolean", "which is a column of its values"),
    ],
)
def test_what_keys_cannot_tell_is_refused_at_the_start(by, schema, fact):
    with pytest.raises(FeedError, match=fact):
        decoded(by, schema=schema)


def test_a_feed_that_takes_no_tombstones_has_its_format_alone():
    assert "_tombstone" not in decoded((), (b"1", b'{"id": 1}'))[0][0]
