from dataclasses import dataclass, field, replace

import pyarrow as pa
import pytest

from lake_assets.errors import RegistryError
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.questions import MessageQuestion, SchemaIdQuestion
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.protobuf.given import framed, message_of, schemas

ONE = "message event { string a = 1; }"
TWO = "message event { string a = 1; int32 b = 2; }"


@dataclass
class Registry:
    """Has two versions, of which it tells of the second when it is asked about its id."""

    is_away: bool = False
    asked: list = field(default_factory=list)

    def newest(self, subject, message):
        return schemas(ONE, subject=subject, message=message)

    def resolve(self, known, ids):
        self.asked.append(set(ids))
        if self.is_away:
            raise RegistryError("schema registry", "cannot be reached", "Start it")
        versions = schemas(ONE, TWO).versions if 2 in ids else known.versions
        return replace(known, versions=versions).with_others(ids - {1, 2}, (), now=0.0)

    def check(self, subject):
        self.asked.append(subject)


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def protobuf(registry):
    return ProtobufFormat(ProtobufPayload(subject="s"), registry)


def bronze(*values):
    ids = [int.from_bytes(v[1:5], "big") if v and v[0] == 0 else None for v in values]
    return pa.record_batch(
        {"value": pa.array(values, pa.binary()), "schema_id": pa.array(ids, pa.int64())}
    )


def test_it_keeps_the_contract(protobuf):
    old, new = framed(1, message_of(ONE, a="x")), framed(2, message_of(TWO, a="x", b=1))
    plan = check_format(
        protobuf, bronze(old, new, None, b"", b"x", old[:-1], framed(3, message_of(ONE)))
    )
    assert plan.columns.names == ["a", "b"]


def test_the_feeds_subject_is_asked_about(protobuf, registry):
    assert protobuf.newest().subject == "s"
    protobuf.check()
    assert registry.asked == ["s"]


def test_messages_are_met_without_the_registry(protobuf, registry):
    met = protobuf.resolve(schemas(ONE), frozenset({MessageQuestion(1, (0,))}))
    assert (met.met, registry.asked) == ({(1, (0,))}, [])


def test_where_the_registry_is_silent_rows_of_its_ids_wait_and_messages_are_met(protobuf, registry):
    registry.is_away = True
    questions = frozenset({SchemaIdQuestion(2), MessageQuestion(1, (0,))})
    known: SchemaSet = schemas(ONE)
    with pytest.raises(RegistryError):
        protobuf.resolve(known, questions)
    waiting = protobuf.let_wait(known, questions)
    assert (waiting.met, waiting.waiting_ids) == ({(1, (0,))}, {2})
    assert protobuf.plan(waiting, pa.schema([]), ()).has_waiting
    assert not protobuf.plan(protobuf.for_next_batch(waiting, 0.0), pa.schema([]), ()).has_waiting
