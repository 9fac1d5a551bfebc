"""The language that schemas of a subject are written in, as the registry needs to know it."""

from collections.abc import Mapping
from typing import Protocol

from lake_assets.formats.confluent.schemas import SchemaSet


class SchemaLanguage(Protocol):
    """Protobuf, Avro or JSON Schema: what compiles a registered text, and says whether it helps."""

    @property
    def name(self) -> str:
        """As the registry says it: `PROTOBUF`. Versions in another language cannot be used."""

    def compile(self, thing: str, text: str, imports: Mapping[str, str]) -> bytes:
        """What decoders are made from; pure, and kept as `Version.descriptor_set`.

        Args:
            thing: what is compiled, for the error.
            text: of the schema.
            imports: by name, the text of all that it refers to, directly or not.

        Raises:
            SchemaUnusableError: it is not valid.
        """

    def check(self, schemas: SchemaSet) -> None:
        """Make sure that some version makes columns.

        Raises:
            RegistryError: there is none.
        """
