"""Avro as a language of registered schemas."""

from collections.abc import Mapping

import pyarrow as pa

from lake_assets.formats.avro.compile import compile_schema
from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets.formats.confluent.schemas import SchemaSet


class AvroLanguage:
    """A `formats.confluent.language.SchemaLanguage`."""

    name = "AVRO"

    def compile(self, thing: str, text: str, imports: Mapping[str, str]) -> bytes:
        """The schema and all that it refers to, as one JSON text."""
        return compile_schema(thing, text, imports)

    def check(self, schemas: SchemaSet) -> None:
        """Make sure that some version makes columns."""
        plan_decoding(schemas, pa.schema([]))


AVRO = AvroLanguage()
