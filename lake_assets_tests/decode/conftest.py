"""Schemas and messages built from a few lines of .proto text."""

from collections.abc import Callable

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lake_assets.decode.compile import ROOT, compile_files, first_message
from lake_assets.decode.schemas import SchemaSet

Compile = Callable[[str], SchemaSet]
ClassOf = Callable[[SchemaSet], type[Message]]


@pytest.fixture
def compiled() -> Compile:
    """Makes the schemas of a .proto text without its `syntax` line; id 7 is known."""

    def build(body: str) -> SchemaSet:
        descriptor_set = compile_files("a test", {ROOT: f'syntax = "proto3"; {body}'})
        return SchemaSet(
            subject="s",
            version=1,
            message=first_message("a test", descriptor_set),
            descriptor_set=descriptor_set,
            known_ids=frozenset({7}),
            unknown_ids=frozenset({8}),
            foreign_ids=frozenset({9}),
        )

    return build


@pytest.fixture
def class_of() -> ClassOf:
    """Makes google.protobuf's own class of the same message."""

    def build(schemas: SchemaSet) -> type[Message]:
        pool = DescriptorPool()
        for file in FileDescriptorSet.FromString(schemas.descriptor_set).file:
            pool.AddSerializedFile(file.SerializeToString())
        return GetMessageClass(pool.FindMessageTypeByName(schemas.message))

    return build
