"""Schemas and messages built from a few lines of .proto text."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lake_assets.formats.confluent.schemas import FIRST, SchemaSet
from lake_assets.formats.protobuf.decoders import descriptor_of
from lake_assets.formats.protobuf.decoding import Decoding
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets_tests.formats.protobuf.given import versions

Compile = Callable[[str], Decoding]
ClassOf = Callable[[Decoding], type[Message]]


@pytest.fixture
def compiled() -> Compile:
    """Makes the decoding of a .proto text without its `syntax` line; id 7 is known.

    Rows of its first message were met.
    """

    def build(body: str) -> Decoding:
        schemas = SchemaSet(
            subject="s",
            versions=versions(body, first_id=7),
            unknown_ids=frozenset({8}),
            foreign_ids=frozenset({9}),
            met=frozenset({(7, FIRST)}),
        )
        return plan_decoding(schemas, pa.schema([]))

    return build


@pytest.fixture
def class_of() -> ClassOf:
    """Makes google.protobuf's own class of the same message."""

    def build(decoding: Decoding) -> type[Message]:
        reader = decoding.readers[0]
        return GetMessageClass(descriptor_of(reader.message, reader.descriptor_set))

    return build
