"""JSON feeds' decoders, and what they make of values."""

from functools import cache
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import Decoded
from lake_assets.formats.json.decoder import JsonDecoder
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.formats.questions import Question
from lake_assets.model.payload import JsonPayload

FITNESS = "time timestamp, version string, model string, heart_bpm int, kcal int"

NOTHING = pa.schema([])


def payload_format(ddl: str = FITNESS, **rules: str) -> JsonFormat:
    return JsonFormat("fitness", JsonPayload(ddl=ddl, **rules))


@cache
def decoder(ddl: str = FITNESS, *, have: pa.Schema = NOTHING, **rules: str) -> JsonDecoder:
    """The decoder of a feed that was declared so, whose tables have some columns."""
    made = payload_format(ddl, **rules)
    return made.plan(made.newest(), have, ())


def batch(*values: bytes | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], names=["value"])


def asked(found: Decoded) -> list[Question | None]:
    """The question of each row."""
    return [None if i is None else found.questions[i] for i in found.question.to_pylist()]


def rows_of(found: Decoded) -> list[Any]:
    """Of each row its question, its reason and detail, or its columns without nulls."""
    refused = zip(found.reason.to_pylist(), found.detail.to_pylist(), strict=True)
    rows = zip(asked(found), refused, found.columns.to_pylist(), strict=True)
    return [
        question or (refusal if refusal[0] else {k: v for k, v in row.items() if v is not None})
        for question, refusal, row in rows
    ]


def read(ddl: str, *values: str | bytes | None, **rules: Any) -> list[Any]:
    """What a feed's rows are, of values that are text."""
    raw = [value.encode() if isinstance(value, str) else value for value in values]
    return rows_of(decoder(ddl, **rules).decode(batch(*raw)))
