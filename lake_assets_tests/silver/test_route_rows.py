"""Which tables several routes name, by the deciding function alone."""

from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from lake_assets.formats.base import Decoded
from lake_assets.silver.route_rows import route
from lake_assets.silver.route_values import RouteValue
from lake_assets_tests.silver.routing import bronze_rows, feed

COLUMNS = pa.schema([("kind", pa.string()), ("level", pa.int32())])
NEW = "asks"


@dataclass
class NothingUnused:
    unused: pa.Schema = field(default_factory=lambda: pa.schema([]))


@dataclass
class Plan:
    routes: tuple
    keys: tuple
    decoder: object = field(default_factory=NothingUnused)
    refused_keys: dict = field(default_factory=dict)


def placed(routes, kind, level):
    """The keys of a row, or why it has none, or that it asks for a key."""
    declared = feed(routes)
    none = pa.nulls(1, pa.string())
    rows = pa.RecordBatch.from_pylist([{"kind": kind, "level": level}], schema=COLUMNS)
    decoded = Decoded(columns=rows, reason=none, detail=none, question=pa.nulls(1, pa.int32()))
    values = tuple(RouteValue(route=one, topic="topic") for one in declared.all_routes)
    plan = Plan(values, declared.keys)
    found = route(bronze_rows({}), decoded, plan, pa.array([True]), {})
    if found.lost is not None and found.lost.reason[0].is_valid:
        return found.lost.reason[0].as_py()
    if found.lost is not None and found.lost.question[0].is_valid:
        return NEW
    return [plan.keys[table[0].as_py()] for table in found.tables if table[0].is_valid]


KIND_CREATES = [
    {"column": "kind", "keys": ["uno"], "unknown": "create"},
    {"column": "level", "keys": ["20"]},
]
LEVEL_CREATES = [
    {"column": "kind", "keys": ["uno"]},
    {"column": "level", "keys": ["20"], "unknown": "create"},
]


@pytest.mark.parametrize(
    ("routes", "kind", "level", "expected"),
    [
        (KIND_CREATES, "uno", 20, ["uno", "20"]),
        (KIND_CREATES, "chess", None, NEW),
        (KIND_CREATES, "chess", 20, NEW),
        (KIND_CREATES, "uno", 7, "unknown_key"),
        (KIND_CREATES, "chess", 7, "unknown_key"),
        (KIND_CREATES, "not a name", None, "bad_key_name"),
        (KIND_CREATES, None, None, "bad_key_name"),
        (LEVEL_CREATES, "typo", None, "unknown_key"),
        (LEVEL_CREATES, "typo", 20, "unknown_key"),
        (LEVEL_CREATES, "uno", 7, NEW),
    ],
)
def test_each_route_says_what_becomes_of_keys_that_it_does_not_know(routes, kind, level, expected):
    assert placed(routes, kind, level) == expected
