from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lake_assets.errors import SinkError
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.sinks.kafka.subject import Subject
from lake_assets.sinks.kafka.values import JsonValues, ProtobufValues, Unfit
from lake_assets_tests.events import Topic

pytestmark = pytest.mark.kafka


def _columns(*rows):
    table = pa.Table.from_pylist(list(rows))
    return {name: table[name].combine_chunks() for name in table.column_names}


def test_a_key_is_the_same_whatever_values_are(services):
    topic = Topic(services)
    at = datetime(2026, 11, 27, tzinfo=UTC)
    sink = KafkaSink.model_validate({"topic": topic.name, "value": "protobuf"})
    made = ProtobufValues(Subject(sink, services))
    columns = _columns({"at": at})
    (row,), (plain,) = made.rows_of(columns, "at"), JsonValues().rows_of(columns, "at")
    assert made.key_of(row, "at") == JsonValues().key_of(plain, "at") != at


def test_a_row_that_is_no_message_is_told_beside_others(services):
    topic = Topic(services)
    sink = KafkaSink.model_validate({"topic": topic.name, "value": "protobuf"})
    made = ProtobufValues(Subject(sink, services))
    rows = made.rows_of(_columns({"a": ["x"]}, {"a": [None]}), None)
    fit, unfit = (made.value_of(row) for row in rows)
    assert isinstance(fit, bytes)
    assert '"x"' in made.shown(fit)
    assert unfit == Unfit("a has null among its values", '{"a":[null]}')


def test_no_schema_is_asked_for_when_there_are_no_rows(services):
    topic = Topic(services)
    sink = KafkaSink.model_validate({"topic": topic.name, "value": "protobuf", "message": "a.B"})
    made = ProtobufValues(Subject(sink, services))
    assert made.rows_of({"a": pa.array([], pa.string())}, None) == []
    with pytest.raises(SinkError, match="does not exist"):
        made.rows_of({"a": pa.array(["x"])}, None)
