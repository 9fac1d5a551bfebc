"""Schemas of the simulator's event without a registry, and bronze rows."""

from functools import cache

import pyarrow as pa

from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.protobuf.decoding import Decoding
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.runtime.protoc import ROOT, compile_files
from lake_assets.simulator.games.schema import proto_text
from lake_assets_tests.columns import BRONZE_NAMES
from lake_assets_tests.events import AT

KNOWN, UNKNOWN, FOREIGN, NEW = 7, 8, 9, 10
"""Schema ids, by what `schemas_of` has to say about them."""

BRONZE = pa.schema(
    [
        ("value", pa.binary()),
        *zip(
            BRONZE_NAMES,
            (pa.string(), pa.int32(), pa.int64(), pa.timestamp("us", tz="UTC"), pa.int64()),
            strict=True,
        ),
    ]
)


def bronze_batch(*values: bytes | None) -> pa.RecordBatch:
    """Bronze rows, one an offset, with the id of their framing."""
    rows = [
        {
            "value": value,
            "topic": "t",
            "partition": 0,
            "offset": offset,
            "kafka_timestamp": AT,
            "schema_id": int.from_bytes(value[1:5], "big")
            if value and value[0] == 0 and len(value) >= 5
            else None,
        }
        for offset, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=BRONZE)


@cache
def schemas_of(version: int) -> SchemaSet:
    """The subject's schemas when a version is its newest."""
    descriptor_set = compile_files("a test", {ROOT: proto_text(version)})
    return SchemaSet(
        subject="s",
        versions={KNOWN: Version(number=version, descriptor_set=descriptor_set)},
        unknown_ids=frozenset({UNKNOWN}),
        foreign_ids=frozenset({FOREIGN}),
    )


@cache
def decoding_of(version: int) -> Decoding:
    """The same, settled for tables that are not there yet."""
    return plan_decoding(schemas_of(version), pa.schema([]))


def no_position(_):
    """What the last commit of a batch records in tests that do not ask how far demux is."""
    return {}
