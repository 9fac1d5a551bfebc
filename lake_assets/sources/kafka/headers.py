"""Kafka's headers on their way from Spark to a bronze file: as JSON, and back.

Spark 4.2 hands an array column to Python in time that grows with the square of the Arrow batch
(measured: 70 s for 1,000,000 rows in batches of 65,536, were all of them null, 4 s without the
column; docs/performance.md). A string has no such cost, and most topics have no headers at all.
"""

import base64
import json

import pyarrow as pa

TYPE = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
"""`headers` in bronze."""


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
