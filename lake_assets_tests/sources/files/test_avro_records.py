"""Where records end, against what fastavro writes of random schemas."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from lake_assets.sources.files.avro_records import WalkError, walk_of
from lake_assets_tests.formats.avro.given import datum as apache_datum
from lake_assets_tests.formats.avro.random_schemas import a_case
from lake_assets_tests.sources.files.containers import varint

PROFILE = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def of(kind):
    fields = [{"name": "a", "type": kind}]
    return walk_of(json.dumps({"type": "record", "name": "R", "fields": fields}))


@PROFILE
@given(case=a_case())
def test_records_of_random_schemas_end_where_their_writer_ended_them(case):
    walk = walk_of(json.dumps(case.old))
    data, ends = b"", []
    for value in case.old_values:
        data += apache_datum(case.old, value)
        ends.append(len(data))
    at, found = 0, []
    for _ in ends:
        at = walk(data, at)
        found.append(at)
    assert found == ends


def test_bytes_of_no_record_never_take_long_or_end_otherwise():
    rest = random.Random(7)  # noqa: S311 - no secret
    kinds: list[Any] = [
        {"type": "array", "items": kind} for kind in ("null", "int", "double", "string")
    ]
    kinds += [["null", "string"], {"type": "map", "values": {"type": "array", "items": "null"}}]
    for kind in kinds:
        walk = of(kind)
        for _ in range(500):
            data = rest.randbytes(40)
            try:
                assert walk(data, 0) > 0
            except (IndexError, WalkError):
                continue
    for kind, data in [
        (kinds[0], varint(2**60) + varint(0)),
        (kinds[0], varint(-(2**60)) + varint(8) + varint(0)),
    ]:
        assert of(kind)(data, 0) == len(data)  # no item has a byte
    with pytest.raises(IndexError):
        of(kinds[2])(varint(2**60) + bytes(80), 0)


def test_types_with_names_are_found_wherever_they_are_used():
    fixed = {"type": "fixed", "name": "F", "size": 3}
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    fields = [("a", fixed), ("b", enum), ("c", "F"), ("d", "E"), ("e", ["null", "F"])]
    named = [{"name": name, "type": kind} for name, kind in fields]
    schema = {"type": "record", "name": "R", "namespace": "n", "fields": named}
    data = b"abc\0abc\0\x02abc"
    assert walk_of(json.dumps(schema))(data, 0) == len(data)
