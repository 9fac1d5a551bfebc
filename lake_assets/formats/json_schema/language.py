"""JSON Schema as a language of registered schemas."""

from collections.abc import Mapping

import pyarrow as pa

from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.json_schema.decoding_plan import plan_decoding
from lake_assets.formats.json_schema.documents import compile_documents


class JsonSchemaLanguage:
    """A `formats.confluent.language.SchemaLanguage`."""

    name = "JSON"

    def compile(self, thing: str, text: str, imports: Mapping[str, str]) -> bytes:
        """The document and all that it refers to, as one JSON text."""
        return compile_documents(thing, text, imports)

    def check(self, schemas: SchemaSet) -> None:
        """Make sure that some version makes columns."""
        plan_decoding(schemas, pa.schema([]))


JSON_SCHEMA = JsonSchemaLanguage()
