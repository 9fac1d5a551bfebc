"""Protobuf as a language of registered schemas."""

from collections.abc import Mapping

import pyarrow as pa

from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.runtime.protoc import compile_files, root_beside


class ProtobufLanguage:
    """A `formats.confluent.language.SchemaLanguage`."""

    name = "PROTOBUF"

    def compile(self, thing: str, text: str, imports: Mapping[str, str]) -> bytes:
        """A serialized `FileDescriptorSet`."""
        root = root_beside(imports)
        return compile_files(thing, {**imports, root: text}, root)

    def check(self, schemas: SchemaSet) -> None:
        """Make sure that some version makes columns."""
        plan_decoding(schemas, pa.schema([]))


PROTOBUF = ProtobufLanguage()
