"""The subject of a topic's values: the version that rows are written with, registered if need be.

A schema that a user registered is used as it is. One that was made here gets a field for each
column that it has none for, and keeps all others.
"""

import threading
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.serde import SchemaId
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from lake_assets.errors import RegistryError, SchemaNotFoundError, SinkError
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.formats.confluent.schemas import Version
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.messages import messages_of
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.sinks.kafka.message_text import text_of
from lake_assets.sinks.kafka.message_types import (
    PACKAGE,
    MisfitError,
    extend,
    joined,
    new_file,
)
from lake_assets.sinks.kafka.message_values import Encoder, encoder_for, message_class

_REGISTERING = threading.Lock()
"""Sinks of one topic, each a thread, would give the same number to different fields."""

_REFUSED = {401, 403, 409, 422}
"""What a registry answers that does not take a version, and will not take it later."""

_TRIES = 5
"""Times that a version is registered, while other processes register others."""

_STEP = "Register a version that has it, or change `select`; rows wait in the lake"


@dataclass(frozen=True, slots=True)
class Framed:
    """How rows with some columns are written."""

    prefix: bytes
    """What stands before each message: magic byte, the schema's id, where the message stands."""

    encoder: Encoder


class Subject:
    """The subject `<topic>-value` of a sink. Holds no connection."""

    def __init__(self, sink: KafkaSink, own: Endpoints | None) -> None:
        """Nothing is asked yet; `own` are the lake's servers.

        Raises:
            SinkError: the lake has no registry.
        """
        if own is None or not own.registry:
            fact = "has no schema registry: the lake's own does not run, and none is set"
            step = "Run `lake-assets up`, or set LAKE_ASSETS_REGISTRY_URL"
            raise SinkError(f"topic {sink.topic!r}", fact, step)
        self._topic, self._message = sink.topic, sink.message
        self._name = f"{sink.topic}-value"
        self._thing = f"subject {self._name!r} at {own.registry}"
        self._url, self._access = own.registry, own.registry_access
        self._registry = Registry(own.registry, PROTOBUF, own.registry_access, takes_deleted=True)

    def check(self) -> None:
        """Make sure that the registry answers, and that rows have a message type there.

        Raises:
            SinkError: it does not, or its newest version has none.
        """
        try:
            versions = self._versions()
        except RegistryError as problem:
            raise _stopped(problem) from problem
        if versions and not self._is_ours(versions[-1]):
            self._named(versions[-1])

    def framed(self, columns: pa.Schema) -> Framed:
        """How rows with these columns are written; a version is registered where none has them.

        Raises:
            SinkError: there is no such version and can be none, or the registry does not answer.
        """
        try:
            with _REGISTERING:
                found = self._found(columns, self._versions())
                if isinstance(found, Framed):
                    return found
                for _ in range(_TRIES):
                    self._register(found)
                    # Looked at again: another process may have registered one meanwhile.
                    found = self._found(columns, self._versions())
                    if isinstance(found, Framed):
                        return found
        except RegistryError as problem:
            raise _stopped(problem) from problem
        except MisfitError as problem:
            raise SinkError(self._thing, f"does not fit the rows ({problem})", _STEP) from problem
        fact = f"has not the version that was registered just now ({_TRIES} times)"
        raise SinkError(self._thing, fact, "Look who else registers versions of it")

    def _versions(self) -> Sequence[tuple[int, Version]]:
        """Ids and versions by their number, the last of them not deleted; none of no subject."""
        try:
            found = self._registry.versions(self._name)
        except SchemaNotFoundError:
            return []
        ordered = sorted(found.versions.items(), key=lambda one: one[1].number)
        # Whether it is deleted or not, a version's numbers are taken.
        return sorted(ordered, key=lambda one: not one[1].is_deleted)

    def _found(
        self, columns: pa.Schema, versions: Sequence[tuple[int, Version]]
    ) -> Framed | FileDescriptorProto:
        """How they are written, or the version that is lacking for it."""
        newest = versions[-1] if versions else None
        if newest is None and self._message is not None:
            step = "Register it, or leave `message` out"
            raise SinkError(self._thing, f"does not exist, and so no {self._message}", step)
        if newest is None or self._is_ours(newest):
            wanted = _union([one for _, one in filter(self._is_ours, versions)], self._topic)
            extend(wanted.message_type[0], columns)
            # Not only the newest: another process may have registered a part of them after it.
            text = text_of(wanted)
            living = (one for one in filter(self._is_ours, versions) if not one[1].is_deleted)
            newest = next((one for one in living if text_of(_file(one[1])) == text), None)
            if newest is None:
                return wanted
        return self._framed(newest, columns)

    def _framed(self, newest: tuple[int, Version], columns: pa.Schema) -> Framed:
        schema_id, version = newest
        name = self._named(newest)
        (path,) = [path for path, own in messages_of(version.descriptor_set).items() if own == name]
        made = message_class(version.descriptor_set, name)
        prefix = SchemaId("PROTOBUF", schema_id, None, list(path)).id_to_bytes()
        return Framed(prefix, encoder_for(made, columns))

    def _named(self, newest: tuple[int, Version]) -> str:
        """Full name of the message type that rows are of."""
        _, version = newest
        whole = f"version {version.number} of {self._thing}"
        if version.problem:
            raise SinkError(whole, version.problem, "Register a corrected version")
        names = list(messages_of(version.descriptor_set).values())
        if self._message is None and names:
            return names[0]
        if self._message is None or self._message not in names:
            fact = f"has no message {self._message or ''}".rstrip() + f": {', '.join(names)}"
            raise SinkError(whole, fact, "Correct `message`, or register a version that has it")
        return self._message

    def _is_ours(self, found: tuple[int, Version]) -> bool:
        _, version = found
        if version.problem or self._message is not None:
            return False
        file = _file(version)
        return file.package == PACKAGE and len(file.message_type) == 1

    def _register(self, file: FileDescriptorProto) -> None:
        # As Confluent's own serializer for Python does: its deserializer reads no text, unless the
        # registry makes a descriptor of it, which not all do.
        descriptors = PROTOBUF.compile(self._thing, text_of(file), {})
        made = FileDescriptorSet.FromString(descriptors).file[-1]
        made.name = f"{self._topic}.proto"
        text = b64encode(made.SerializeToString()).decode()
        try:
            with registry_client(self._url, self._access) as client:
                client.register_schema(self._name, Schema(text, "PROTOBUF"))
        except SchemaRegistryError as problem:
            said = f"{problem.http_status_code}: {problem.error_message}"
            fact = f"does not take a version with the rows' fields ({said})"
            step = "Rows wait in the lake, and it is tried again"
            if problem.http_status_code in _REFUSED:
                step = "See the subject's compatibility, or register a version that has the fields"
            raise SinkError(self._thing, fact, step) from problem


def _union(versions: Sequence[Version], topic: str) -> FileDescriptorProto:
    """All fields of versions that were made here.

    What contradicts an older one has no say, and who registered it sends nothing by it: two did so
    at the same time, and both see both when they look again. A deleted one has least: a registry
    tells of the versions of a deleted subject once it has another one, made without them.
    """
    living = [_file(one) for one in versions if not one.is_deleted]
    deleted = [_file(one) for one in versions if one.is_deleted]
    whole = living[0] if living else new_file(topic)
    for other in (*living[1:], *deleted):
        with suppress(MisfitError):
            whole = joined([whole, other])
    return whole


def _file(version: Version) -> FileDescriptorProto:
    return FileDescriptorSet.FromString(version.descriptor_set).file[-1]


def _stopped(problem: RegistryError) -> SinkError:
    return SinkError(problem.thing, problem.fact, problem.next_step)
