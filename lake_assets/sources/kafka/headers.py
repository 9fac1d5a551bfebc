"""Kafka's headers on their way from Spark to a bronze file: as JSON, and back; and one by its name.

Spark 4.2 hands an array column to Python in time that grows with the square of the Arrow batch
(measured: 70 s for 1,000,000 rows in batches of 65,536, were all of them null, 4 s without the
column; docs/performance.md). A string has no such cost, and most topics have no headers at all.
"""

import base64
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TYPE = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
"""`headers` in bronze."""


_VALUE = ',"value":"'
"""What is before a header's value."""


def as_lists(headers: pa.Array) -> pa.Array:
    """Headers in either form as `TYPE`."""
    return headers if pa.types.is_list(headers.type) else from_text(headers)


def from_text(texts: pa.Array) -> pa.Array:
    """What `sources.kafka.stream.with_header_texts` wrote, as `TYPE`."""
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), TYPE)
    return pa.array([None if t is None else _parse(t) for t in texts.to_pylist()], TYPE)


def _parse(text: str) -> list[dict[str, object]]:
    return [
        {
            "key": header.get("key"),
            "value": base64.b64decode(header["value"]) if "value" in header else None,
        }
        for header in json.loads(text)
    ]


def last_values(headers: pa.Array, name: str) -> pa.Array:
    """The value of each row's last header of a name, as Kafka's `Headers.lastHeader`: binary.

    Null where there is no such header, and where its value is null.

    Args:
        headers: as texts (`from_text`), or as `TYPE`.
        name: of the header, without control characters.
    """
    if headers.null_count == len(headers):
        return pa.nulls(len(headers), pa.binary())
    if pa.types.is_list(headers.type):
        return _last_in_lists(headers, name)
    return _last_in_texts(headers, name)


def _last_in_texts(texts: pa.Array, name: str) -> pa.Array:
    """By a pattern: quotes in names are escaped and values have none, so it matches headers only.

    What is decoded one by one are the distinct values.
    """
    key = re.escape(json.dumps(name, ensure_ascii=False))
    pattern = rf'(?s).*\{{"key":{key}(?P<rest>(?:,"value":"[^"]*")?)\}}'
    rest = pc.struct_field(pc.extract_regex(texts, pattern), "rest").dictionary_encode()
    values = [
        base64.b64decode(one.removeprefix(_VALUE)[:-1]) if one else None
        for one in rest.dictionary.to_pylist()
    ]
    return pa.array(values, pa.binary()).take(rest.indices)


def _last_in_lists(headers: pa.Array, name: str) -> pa.Array:
    rows = pc.list_parent_indices(headers)
    flat = headers.flatten()
    is_named = pc.equal(pc.struct_field(flat, "key"), name).fill_null(fill_value=False)
    at = np.flatnonzero(is_named.to_numpy(zero_copy_only=False))
    places = np.full(len(headers), -1, np.int64)
    # Of several places for one row numpy keeps the last.
    places[rows.to_numpy()[at]] = at
    values = pc.struct_field(flat, "value")
    return values.take(pa.array(places, mask=places < 0))
