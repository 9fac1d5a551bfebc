import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from lake_assets.errors import SinkError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.sinks.kafka.message_types import extend, new_file
from lake_assets.sinks.kafka.subject import Subject
from lake_assets_tests.events import Topic

pytestmark = pytest.mark.kafka

PLAYER, COINS = ("player", pa.string()), ("coins", pa.int64())


def _subject(topic, **declared):
    sink = KafkaSink.model_validate({"topic": topic.name, "value": "protobuf", **declared})
    return Subject(sink, topic.endpoints)


def _id(framed):
    return int.from_bytes(framed.prefix[1:5], "big")


def _versions(topic):
    with SchemaRegistryClient({"url": topic.endpoints.registry}) as client:
        return client.get_versions(topic.subject)


def test_versions_only_get_fields(services):
    topic = Topic(services)
    first = _subject(topic).framed(pa.schema([PLAYER]))
    assert _id(_subject(topic).framed(pa.schema([PLAYER]))) == _id(first)
    second = _subject(topic).framed(pa.schema([COINS]))
    # A sink whose rows lack a field goes on with the newest version.
    assert _id(_subject(topic).framed(pa.schema([PLAYER]))) == _id(second)
    numbers = second.encoder.make.DESCRIPTOR.fields_by_name
    assert {name: field.number for name, field in numbers.items()} == {"player": 1, "coins": 2}
    assert second.prefix[5:] == b"\0"
    assert _versions(topic) == [1, 2]


def test_a_number_stays_taken_though_its_version_is_deleted(services):
    topic = Topic(services)
    _subject(topic).framed(pa.schema([PLAYER]))
    _subject(topic).framed(pa.schema([PLAYER, COINS]))
    with SchemaRegistryClient({"url": services.registry}) as client:
        client.delete_version(topic.subject, 2)
    third = _subject(topic).framed(pa.schema([PLAYER, ("level", pa.int32())]))
    found = third.encoder.make.DESCRIPTOR.fields_by_name
    assert (found["coins"].number, found["level"].number) == (2, 3)


def test_a_deleted_subject_does_not_stop_the_sink(services):
    """A registry tells of its versions when there is a new one."""
    topic = Topic(services)
    _subject(topic).framed(pa.schema([PLAYER, COINS]))
    with SchemaRegistryClient({"url": services.registry}) as client:
        client.delete_subject(topic.subject)
    seen = []
    for columns in ([COINS], [COINS, ("level", pa.int32())], [COINS]):
        found = _subject(topic).framed(pa.schema(columns)).encoder.make.DESCRIPTOR
        seen.append({field.name: field.number for field in found.fields})
    assert seen[0].items() < seen[1].items()
    assert seen[1] == seen[2]


def test_a_newest_version_that_is_deleted_is_registered_again(services):
    topic = Topic(services)
    _subject(topic).framed(pa.schema([PLAYER]))
    second = _subject(topic).framed(pa.schema([PLAYER, COINS]))
    with SchemaRegistryClient({"url": services.registry}) as client:
        client.delete_version(topic.subject, 2)
    for _ in range(2):
        assert _id(_subject(topic).framed(pa.schema([PLAYER]))) == _id(second)
    assert _versions(topic) == [1, 3]


LEVEL, TEXT_LEVEL = ("level", pa.int64()), ("level", pa.string())


class Late(Subject):
    """Registers right after another process, of which it has seen nothing."""

    other: FileDescriptorProto | None = None

    def _register(self, file: FileDescriptorProto) -> None:
        if self.other is not None:
            super()._register(self.other)
            self.other = None
        super()._register(file)


@pytest.mark.parametrize("before", [[], [PLAYER]])
@pytest.mark.parametrize(
    ("theirs", "fields", "registered"),
    [
        ([PLAYER, LEVEL], {"player": 1, "level": 2, "coins": 3}, 3),
        ([PLAYER, TEXT_LEVEL], {"player": 1, "level": 2, "coins": 3}, 3),
        ([PLAYER, COINS, LEVEL], {"player": 1, "coins": 2, "level": 3}, 2),
    ],
)
def test_who_registers_after_another_that_it_did_not_see_goes_on(
    services, before, theirs, fields, registered
):
    topic, ours = Topic(services), [PLAYER, COINS]
    if before:
        _subject(topic).framed(pa.schema(before))
    late = Late(KafkaSink(topic=topic.name, value="protobuf"), topic.endpoints)
    late.other = new_file(topic.name)
    extend(late.other.message_type[0], pa.schema(theirs))
    for subject, columns in ((late, ours), (_subject(topic), theirs), (_subject(topic), ours)):
        found = subject.framed(pa.schema(columns)).encoder.make.DESCRIPTOR
        assert {field.name: field.number for field in found.fields} == fields
    assert len(_versions(topic)) == registered + bool(before)


def test_a_field_whose_type_changed_is_told(services):
    topic = Topic(services)
    _subject(topic).framed(pa.schema([COINS]))
    with pytest.raises(SinkError, match=r"coins is string, and its field \(number 1\) is int64"):
        _subject(topic).framed(pa.schema([("coins", pa.string())]))
    assert _versions(topic) == [1]


def test_a_users_schema_is_used_as_it_is(services):
    topic = Topic(services)
    body = (
        "package acme; message Key { string id = 1; } message Found { optional string player = 4; }"
    )
    topic.register_text(body)
    found = _subject(topic, message="acme.Found").framed(pa.schema([PLAYER]))
    assert found.prefix[5:] == b"\x02\x02"  # the second message: a path of one index, 1
    assert found.encoder.encode({"player": "a"}) == b"\x22\x01a"
    with pytest.raises(SinkError, match=r"acme\.Found has no field coins"):
        _subject(topic, message="acme.Found").framed(pa.schema([PLAYER, COINS]))
    with pytest.raises(SinkError, match=r"acme\.Key has no field player"):
        _subject(topic).framed(pa.schema([PLAYER]))
    with pytest.raises(SinkError, match=r"has no message acme\.Lost: acme\.Key, acme\.Found"):
        _subject(topic, message="acme.Lost").check()
    assert _versions(topic) == [1]


def test_a_subject_of_another_language_is_told(services):
    topic = Topic(services)
    with SchemaRegistryClient({"url": services.registry}) as client:
        client.register_schema(topic.subject, Schema('"string"', "AVRO"))
    with pytest.raises(SinkError, match="is AVRO, not PROTOBUF"):
        _subject(topic).framed(pa.schema([PLAYER]))


def test_a_message_of_ones_own_needs_its_subject(services):
    with pytest.raises(SinkError, match=r"does not exist, and so no acme\.Found"):
        _subject(Topic(services), message="acme.Found").framed(pa.schema([PLAYER]))


def test_a_registry_that_does_not_answer_stops_the_sink():
    topic = Topic(Endpoints(kafka="", registry="http://127.0.0.1:9"))
    with pytest.raises(SinkError, match="cannot be reached"):
        _subject(topic).framed(pa.schema([PLAYER]))
    with pytest.raises(SinkError, match="cannot be reached"):
        _subject(topic).check()
    with pytest.raises(SinkError, match="has no schema registry"):
        _subject(Topic(Endpoints(kafka="", registry="")))
