"""Registers the simulator's schema versions, and frames messages as Confluent's clients do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.serde import SchemaId

from lake_assets.errors import RegistryError
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.endpoints import Endpoints
from lake_assets.simulator.games.schema import proto_text

_FIRST_MESSAGE = [0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """Versions of one subject, registered as they come up. Holds no connection."""

    endpoints: Endpoints
    subject: str

    def prepare(self) -> None:
        """Give the subject compatibility FULL.

        Raises:
            RegistryError: no answer, or the registry refuses us.
        """
        with self._asking() as client:
            client.set_compatibility(self.subject, "FULL")

    def prefix(self, version: int) -> bytes:
        """Register a version unless it is; the bytes that stand before each of its messages.

        Raises:
            RegistryError: no answer, or the subject has schemas that do not go with this one.
        """
        schema = Schema(proto_text(version), "PROTOBUF")
        with self._asking() as client:
            schema_id = client.register_schema(self.subject, schema)
        return SchemaId("PROTOBUF", schema_id, None, _FIRST_MESSAGE).id_to_bytes()

    @contextmanager
    def _asking(self) -> Iterator[SchemaRegistryClient]:
        url = self.endpoints.registry
        try:
            with registry_client(url, self.endpoints.registry_access) as client:
                yield client
        except SchemaRegistryError as problem:
            raise RegistryError(
                f"subject {self.subject!r} at {url}",
                f"is refused by the registry ({problem.error_message})",
                "Delete the subject, or use another topic and feed",
            ) from problem
