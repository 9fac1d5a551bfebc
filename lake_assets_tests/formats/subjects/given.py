"""Versions of several subjects in each language, known without a registry, and rows of them."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from lake_assets.formats.avro.compile import compile_schema
from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.json_schema.documents import compile_documents
from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.questions import MessageQuestion
from lake_assets.formats.subjects.payload_format import SubjectsFormat
from lake_assets.formats.subjects.registry import SubjectsRegistry
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.model.payload import AvroPayload, JsonPayload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.subjects import Subjects
from lake_assets_tests.formats.framed_rows import bronze
from lake_assets_tests.formats.json_schema.given import NoRegistry
from lake_assets_tests.formats.protobuf.given import descriptor_set_of

NOTHING = pa.schema([])

NOWHERE = Registry("http://127.0.0.1:1", PROTOBUF)
"""Is never asked here."""


def compiled(language: str, schema: Any) -> bytes:
    """What decoders are made from."""
    if language == "protobuf":
        return descriptor_set_of(schema)
    make = compile_schema if language == "avro" else compile_documents
    return make("a test", json.dumps(schema), {})


def known(language: str, pattern: str = "", **subjects: dict[int, Any]) -> SubjectSchemas:
    """Subjects, each with its schemas by id, in the order of their versions."""
    choice = Subjects(pattern=pattern) if pattern else Subjects(names=tuple(subjects))
    sets = [
        SchemaSet(
            subject=name,
            versions={
                schema_id: Version(number=number, descriptor_set=compiled(language, schema))
                for number, (schema_id, schema) in enumerate(schemas.items(), 1)
            },
        )
        for name, schemas in subjects.items()
    ]
    return SubjectSchemas(choice=choice).with_sets(sets)


def format_of(language: str, choice: Subjects, **rules: Any) -> SubjectsFormat:
    """The format over several subjects."""
    made: Any
    if language == "protobuf":
        made = ProtobufFormat(ProtobufPayload(subject="s"), NoRegistry())
    elif language == "avro":
        made = AvroFormat(AvroPayload(subject="s"), NoRegistry())
    else:
        declared = JsonPayload.model_validate({"subject": "s", **rules})
        made = JsonSchemaFormat(declared, NoRegistry(), "f")
    return SubjectsFormat(made, SubjectsRegistry(choice, NOWHERE))


@dataclass
class Reader:
    """Decodes with what is known; questions about messages are answered."""

    language: str
    schemas: SubjectSchemas
    have: pa.Schema = NOTHING
    route: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.format = format_of(self.language, self.schemas.choice)
        self.plan()

    def plan(self) -> None:
        self.decoder = self.format.plan(self.schemas, self.have, self.route)
        self.have = self.decoder.columns

    def read(self, *values: bytes | None) -> Decoded:
        found = self.decoder.decode(bronze(*values))
        met = frozenset(one for one in found.questions if isinstance(one, MessageQuestion))
        if met:
            self.schemas = self.format.resolve(self.schemas, met)
            self.plan()
            found = self.decoder.decode(bronze(*values))
        return found

    def rows(self, *values: bytes | None) -> list[Any]:
        """What tables get, without nulls; of a refused row why; of an open one the question."""
        found = self.read(*values)
        answers = zip(
            found.columns.to_pylist(),
            found.reason.to_pylist(),
            found.detail.to_pylist(),
            found.question.to_pylist(),
            strict=True,
        )
        return [
            {reason: detail}
            if reason is not None
            else found.questions[asked]
            if asked is not None
            else {name: value for name, value in row.items() if value is not None}
            for row, reason, detail, asked in answers
        ]

    def messages(self, *values: bytes | None) -> list[str | None]:
        """The message type of each row."""
        found = self.read(*values)
        assert found.message is not None
        return [None if at is None else found.messages[at] for at in found.message.to_pylist()]


def without(schemas: SubjectSchemas, **others: frozenset[int]) -> SubjectSchemas:
    """The same with what is known of other ids."""
    return replace(schemas, others=replace(schemas.others, **others))
