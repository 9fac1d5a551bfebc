"""Registers the simulator's schema versions, and frames messages as Confluent's clients do."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.serde import SchemaId

from lake_assets.errors import RegistryError
from lake_assets.simulator.schema import proto_text

_TIMEOUT_S = 10.0
"""Seconds for an answer of the registry."""

_FIRST_MESSAGE = [0]


class Registration:
    """Versions of one subject, registered as they come up."""

    def __init__(self, client: SchemaRegistryClient, url: str, subject: str) -> None:
        """Use `registering` instead."""
        self._client = client
        self._url = url
        self._subject = subject

    def prefix(self, version: int) -> bytes:
        """Register a version unless it is; the bytes that stand before each of its messages.

        Raises:
            RegistryError: no answer, or the subject has schemas that do not go with this one.
        """
        with _asking(self._url, self._subject):
            schema = Schema(proto_text(version), "PROTOBUF")
            schema_id = self._client.register_schema(self._subject, schema)
        return SchemaId("PROTOBUF", schema_id, None, _FIRST_MESSAGE).id_to_bytes()


@contextmanager
def registering(url: str, subject: str) -> Iterator[Registration]:
    """A subject with compatibility FULL, for as long as a run lasts.

    Raises:
        RegistryError: no answer.
    """
    with _asking(url, subject):
        client = SchemaRegistryClient({"url": url, "timeout": _TIMEOUT_S, "max.retries": 1})
    with client:
        with _asking(url, subject):
            client.set_compatibility(subject, "FULL")
        yield Registration(client, url, subject)


@contextmanager
def _asking(url: str, subject: str) -> Iterator[None]:
    try:
        yield
    except SchemaRegistryError as problem:
        raise RegistryError(
            f"subject {subject!r} at {url}",
            f"is refused by the registry ({problem.error_message})",
            "Delete the subject, or use another topic and feed",
        ) from problem
    except (httpx.HTTPError, ValueError) as problem:
        raise RegistryError(
            f"schema registry {url}",
            f"cannot be reached ({str(problem) or type(problem).__name__})",
            "Start it, or correct its address",
        ) from problem
