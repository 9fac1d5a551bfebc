"""Payloads: how a feed's values are encoded, as it declares that; frozen nouns.

What a format does with its declaration is the business of `formats`.
"""

from enum import StrEnum
from typing import ClassVar, Self, TypeAlias

from pydantic import ConfigDict, Field, field_validator, model_validator

from lake_assets.errors import FeedError
from lake_assets.model.base import Noun
from lake_assets.model.ddl import Column, columns_of_ddl
from lake_assets.model.sources import ORIGIN_NAMES


class ProtobufPayload(Noun):
    """Confluent-framed protobuf whose schemas are registered under `subject`."""

    needs_registry: ClassVar[bool] = True

    subject: str = Field(min_length=1)
    """Name of the subject in the registry."""

    message: str | None = Field(default=None, min_length=1)
    """Full name of the one message type that is taken (`pkg.Event`); others are quarantined. Unset,
    rows of all message types are taken that have the route's column."""


class AvroPayload(Noun):
    """Confluent-framed Avro whose schemas are registered under `subject`."""

    needs_registry: ClassVar[bool] = True

    subject: str = Field(min_length=1)
    """Name of the subject in the registry. Each version of it is a record; columns are the fields
    of all versions that rows have, under the names that the newest one has for them."""


RESCUED = "_rescued"
"""Column of what did not fit the others: JSON text, or null."""


class OnMismatch(StrEnum):
    """What becomes of a value that does not fit its column."""

    RESCUE = "rescue"  # the column is null, and the value in `_rescued`
    QUARANTINE = "quarantine"  # the whole row goes to the quarantine table


class OnUnknown(StrEnum):
    """What becomes of a value whose name nobody declared."""

    RESCUE = "rescue"  # it is in `_rescued`
    ADD_COLUMNS = "add_columns"  # it gets a column of the type that it has
    IGNORE = "ignore"  # it is in bronze alone
    QUARANTINE = "quarantine"  # the whole row goes to the quarantine table


class JsonPayload(Noun):
    """A JSON object a value, with a declared schema."""

    needs_registry: ClassVar[bool] = False

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    ddl: str = Field(alias="schema", min_length=1)
    """Columns in Spark's DDL: `time timestamp, model string, device struct<id: string>`."""

    on_mismatch: OnMismatch = OnMismatch.RESCUE
    """What becomes of a value that does not fit its column."""

    on_unknown: OnUnknown = OnUnknown.RESCUE
    """What becomes of a value whose name is not in the schema."""

    @field_validator("ddl")
    @classmethod
    def _makes_columns(cls, ddl: str) -> str:
        for column in columns_of_ddl(ddl):
            if column.name.lower() in {*ORIGIN_NAMES, RESCUED}:
                message = f"{column.name} is a column that silver has already: choose another name"
                raise ValueError(message)
        return ddl

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""
        return columns_of_ddl(self.ddl)

    @property
    def rescues(self) -> bool:
        """Whether there is a column `_rescued`."""
        keeps_unknown = self.on_unknown in {OnUnknown.RESCUE, OnUnknown.ADD_COLUMNS}
        return keeps_unknown or self.on_mismatch is OnMismatch.RESCUE


Declared: TypeAlias = AvroPayload | ProtobufPayload | JsonPayload
"""What is declared of a format, whichever it is."""


class Payload(Noun):
    """How a feed's values are encoded: exactly one format, with its declaration."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    avro: AvroPayload | None = None
    """Avro, with its schemas in a registry."""

    protobuf: ProtobufPayload | None = None
    """Protobuf, with its schemas in a registry."""

    json_: JsonPayload | None = Field(default=None, alias="json")
    """JSON objects, with a schema that is declared here; no registry is needed."""

    @model_validator(mode="after")
    def _has_one_format(self) -> Self:
        if len(self._given) != 1:
            message = f"give exactly one of {', '.join(sorted(_FORMATS))}"
            raise ValueError(message)
        return self

    @property
    def _given(self) -> dict[str, Declared]:
        fields = {name: getattr(self, field) for name, field in _FORMATS.items()}
        return {name: declared for name, declared in fields.items() if declared is not None}

    @property
    def format(self) -> str:
        """Name of the format."""
        (name,) = self._given
        return name

    @property
    def needs_registry(self) -> bool:
        """Whether there must be a schema registry. If not, none is looked for or waited for."""
        return self.declared.needs_registry

    @property
    def declared(self) -> Declared:
        """What is declared of the format."""
        (declared,) = self._given.values()
        return declared

    @property
    def subject(self) -> str:
        """The subject of an Avro or protobuf payload.

        Raises:
            FeedError: it is of another format.
        """
        declared = self.declared
        if isinstance(declared, JsonPayload):
            fact = f"is {self.format}, which has no subject in a registry"
            raise FeedError("payload of the feed", fact, "Choose a feed of Avro or protobuf")
        return declared.subject


_FORMATS = {field.alias or name: name for name, field in Payload.model_fields.items()}
"""By name in a feed, the field of `Payload`."""
