"""CSV feeds' decoders, and what they make of values."""

from functools import cache
from typing import Any

import pyarrow as pa

from lake_assets.formats.csv.decoder import CsvDecoder
from lake_assets.formats.csv.payload_format import CsvFormat
from lake_assets.model.csv_payload import CsvPayload
from lake_assets_tests.formats.json.given import NOTHING, batch, rows_of

FITNESS = "time timestamp, model string, heart_bpm int, kcal double"


def payload_format(ddl: str = FITNESS, **rules: str) -> CsvFormat:
    return CsvFormat("fitness", CsvPayload(ddl=ddl, **rules))


@cache
def decoder(ddl: str = FITNESS, **rules: str) -> CsvDecoder:
    """The decoder of a feed that was declared so."""
    made = payload_format(ddl, **rules)
    return made.plan(made.newest(), NOTHING, ())


def read(ddl: str, *values: str | bytes | None, **rules: Any) -> list[Any]:
    """What a feed's rows are, of values that are text."""
    raw = [value.encode() if isinstance(value, str) else value for value in values]
    return rows_of(decoder(ddl, **rules).decode(batch(*raw)))


def columns(plan: CsvDecoder, *values: str) -> pa.RecordBatch:
    return plan.decode(batch(*(value.encode() for value in values))).columns
