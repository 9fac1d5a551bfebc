from dataclasses import dataclass, field, replace

import pyarrow as pa
import pytest

from lake_assets.errors import RegistryError
from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.formats.questions import MessageQuestion, SchemaIdQuestion
from lake_assets.model.payload import AvroPayload
from lake_assets_tests.formats.avro.given import datum, framed, record, subject
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.framed_rows import bronze

ONE = record(("a", "string"))
TWO = record(("b", ["null", "int"]))


@dataclass
class Registry:
    """Has two versions, of which it tells of the second when it is asked about its id."""

    is_away: bool = False
    asked: list = field(default_factory=list)

    def newest(self, name):
        return subject(ONE, subject=name)

    def resolve(self, known, ids):
        self.asked.append(set(ids))
        if self.is_away:
            raise RegistryError("schema registry", "cannot be reached", "Start it")
        versions = subject(ONE, TWO).versions if 2 in ids else known.versions
        return replace(known, versions=versions).with_others(ids - {1, 2}, (), now=0.0)

    def check(self, name):
        self.asked.append(name)


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def avro(registry):
    return AvroFormat(AvroPayload(subject="s"), registry)


def test_it_keeps_the_contract_through_new_versions_and_old_ones(avro):
    old, new = framed(1, datum(ONE, {"a": "x"})), framed(2, datum(TWO, {"b": 1}))
    plan = check_format(avro, bronze(old, new, None, b"", b"x", old[:-1], framed(3, b"\0")))
    assert plan.columns.names == ["a", "b"]


def test_the_feeds_subject_is_asked_about(avro, registry):
    assert avro.newest().subject == "s"
    avro.check()
    assert registry.asked == ["s"]


def test_where_the_registry_is_silent_rows_of_its_ids_wait_and_versions_are_met(avro, registry):
    registry.is_away = True
    questions = frozenset({SchemaIdQuestion(2), MessageQuestion(1, FIRST)})
    known = subject(ONE)
    with pytest.raises(RegistryError):
        avro.resolve(known, questions)
    waiting = avro.let_wait(known, questions)
    assert (waiting.met, waiting.waiting_ids) == ({(1, FIRST)}, {2})
    assert avro.plan(waiting, pa.schema([]), ()).has_waiting
    assert not avro.plan(avro.for_next_batch(waiting, 0.0), pa.schema([]), ()).has_waiting
    assert [one.names for one in avro.made_by(waiting, ())] == [["a"], ["a"]]
