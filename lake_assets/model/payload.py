"""Payloads: how a feed's values are encoded, as it declares that; frozen nouns.

What a format does with its declaration is the business of `formats`.
"""

from typing import Any, Self, TypeAlias

from pydantic import ConfigDict, Field, StrictBool, field_validator, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.csv_payload import CsvPayload
from lake_assets.model.ddl import Column, columns_of_ddl
from lake_assets.model.misfits import OnMismatch, OnUnknown, refuse_taken
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.subjects import OfSubjects, Subjects, one_subject
from lake_assets.model.unique_names import both
from lake_assets.model.wrapped import WrappedIn, joined_columns, refuse_unreadable


class AvroPayload(OfSubjects):
    """Confluent-framed Avro whose records are registered under `subject` or `subjects`.

    Of files of format `avro`, which bring their schemas, neither is given: `avro: {}`.
    """

    @property
    def needs_registry(self) -> bool:
        """Whether its schemas are registered."""
        return self.has_subject


class JsonPayload(OfSubjects):
    """A JSON object a value, with a schema that is declared, inferred or registered.

    With a subject, whose versions are JSON Schema documents, values have Confluent's framing, and
    columns are the properties of all versions that rows have.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    ddl: str = Field(default="", alias="schema")
    """Columns in Spark's DDL: `time timestamp, model string, device struct<id: string>`."""

    infer: StrictBool = False
    """Whether columns are inferred from the values, in place of a `schema`: those of the first
    batch at first, then wider ones as values come that need it, and never narrower ones."""

    hints: str = ""
    """With `infer`, the columns whose type is declared, in Spark's DDL: `time timestamp, kcal int`.
    Needed for what is inferred otherwise (times are text), and for columns that the feed names."""

    on_mismatch: OnMismatch = OnMismatch.RESCUE
    """What becomes of a value that does not fit its column."""

    on_unknown: OnUnknown = OnUnknown.RESCUE
    """What becomes of a value whose name is not in the schema; with `infer`, where it is
    `add_columns` unless declared, whose name no column has since the first batch."""

    @model_validator(mode="before")
    @classmethod
    def _adds_what_it_infers(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a feed has there
        if isinstance(given, dict) and given.get("infer") is True:
            return {"on_unknown": OnUnknown.ADD_COLUMNS, **given}
        return given

    @field_validator("ddl", "hints")
    @classmethod
    def _makes_columns(cls, ddl: str) -> str:
        refuse_taken(columns_of_ddl(ddl) if ddl else ())
        return ddl

    @model_validator(mode="after")
    def _has_one_way_to_columns(self) -> Self:
        message = ""
        if self.infer and self.ddl:
            message = (
                "`schema` and `infer: true` are given\ngive `schema` or `infer: true`; columns of "
                "known types are its `hints`"
            )
        elif not self.infer and self.hints:
            message = "`hints` go with `infer: true`; without it columns are the `schema`"
        elif self.has_subject and (self.ddl or self.infer):
            message = (
                "a subject is given, and other columns\ngive `subject`, `schema` or `infer: true`: "
                "columns come from one of them"
            )
        elif self.has_subject and self.on_unknown is OnUnknown.ADD_COLUMNS:
            message = "with a `subject`, columns are those of its schemas: on_unknown adds none"
        elif not self.infer and not self.ddl and not self.has_subject:
            message = "schema is missing\ngive the columns, or `infer: true`, or a `subject`"
        if message:
            raise ValueError(message)
        return self

    @property
    def needs_registry(self) -> bool:
        """Whether its schemas are registered."""
        return self.has_subject

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns; with `infer` those of `hints`; there may be none."""
        ddl = self.hints if self.infer else self.ddl
        return columns_of_ddl(ddl) if ddl else ()

    @property
    def rescues(self) -> bool:
        """Whether there is a column `_rescued`."""
        keeps_unknown = self.on_unknown in {OnUnknown.RESCUE, OnUnknown.ADD_COLUMNS}
        # What is inferred does not fit at first: there is always what cannot be a column.
        return keeps_unknown or self.infer or self.on_mismatch is OnMismatch.RESCUE


Declared: TypeAlias = AvroPayload | ProtobufPayload | JsonPayload | CsvPayload
"""What is declared of a format, whichever it is."""


class OneFormat(Noun):
    """How bytes are encoded: exactly one format, with its declaration."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    avro: AvroPayload | None = None
    """Avro, with its schemas in a registry."""

    protobuf: ProtobufPayload | None = None
    """Protobuf, with its schemas in a registry."""

    json_: JsonPayload | None = Field(default=None, alias="json")
    """JSON objects, with a schema that is declared here, inferred, or in a registry."""

    csv: CsvPayload | None = None
    """Records of CSV, with a schema that is declared here; no registry is needed."""

    @model_validator(mode="after")
    def _has_one_format(self) -> Self:
        if len(self._given) != 1:
            message = (
                f"{both(sorted(self._given))}\ngive exactly one of {', '.join(sorted(_FORMATS))}"
            )
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
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that are declared of the format, as it decodes them."""
        declared = self.json_ or self.csv
        return declared.columns if declared is not None else ()

    @property
    def declared_columns(self) -> tuple[Column, ...]:
        """The columns that are declared here; none of a format whose schemas are registered."""
        return self.own_columns

    @property
    def rescues(self) -> bool:
        """Whether there is a column `_rescued`."""
        declared = self.json_ or self.csv
        return declared is not None and declared.rescues

    @property
    def infers(self) -> bool:
        """Whether columns, and their types, follow from the values."""
        return self.json_ is not None and self.json_.infer

    @property
    def grows(self) -> bool:
        """Whether columns may come that nobody declared."""
        declared = self.json_
        return self.infers or (
            declared is not None and declared.on_unknown is OnUnknown.ADD_COLUMNS
        )

    @property
    def promotes(self) -> bool:
        """Whether columns of integers become doubles where a version of the schema says so."""
        return self.avro is not None or (self.json_ is not None and self.json_.needs_registry)

    @property
    def needs_registry(self) -> bool:
        """Whether there must be a schema registry. If not, none is looked for or waited for."""
        return self.declared.needs_registry

    @property
    def brings_schemas(self) -> bool:
        """Whether rows come with their schemas, by whose fingerprints they name them."""
        declared = self.avro or self.protobuf
        return declared is not None and not declared.needs_registry

    @property
    def has_versions(self) -> bool:
        """Whether columns are those of a schema's versions, registered or brought."""
        return self.declared.needs_registry or self.brings_schemas

    @property
    def declared(self) -> Declared:
        """What is declared of the format."""
        (declared,) = self._given.values()
        return declared

    @property
    def subject(self) -> str:
        """The subject of a payload whose schemas are registered.

        Raises:
            FeedError: it is of another format, or of several subjects.
        """
        return one_subject(self.declared, self.format)

    @property
    def subjects(self) -> Subjects | None:
        """The subjects of a payload that has several."""
        return self.declared.several if isinstance(self.declared, OfSubjects) else None


_FORMATS = {field.alias or name: name for name, field in OneFormat.model_fields.items()}
"""By name in a feed, the field of `OneFormat`."""


class WrappedPayload(WrappedIn, OneFormat):
    """The message that a column of bytes of another one holds: where it is, and one format."""


class Payload(OneFormat):
    """How a feed's values are encoded: exactly one format, with its declaration."""

    wrapped: WrappedPayload | None = None
    """That values are envelopes: a column of theirs holds another message, the body, in its bytes.
    Silver's columns are then the envelope's without that one, and the body's."""

    @model_validator(mode="after")
    def _holds_what_is_wrapped(self) -> Self:
        if self.wrapped is not None:
            refuse_unreadable(self, self.wrapped)
        return self

    @property
    def declared_columns(self) -> tuple[Column, ...]:
        """The columns that are declared here, also the body's, as silver has them."""
        own, body = self.own_columns, self.wrapped
        return own if body is None else joined_columns(own, body, body.own_columns)

    @property
    def promotes(self) -> bool:
        """Whether columns of integers become doubles where a version of the schema says so."""
        return super().promotes or (self.wrapped is not None and self.wrapped.promotes)

    @property
    def needs_registry(self) -> bool:
        """Whether there must be a schema registry. If not, none is looked for or waited for."""
        return super().needs_registry or (self.wrapped is not None and self.wrapped.needs_registry)

    @property
    def has_messages(self) -> bool:
        """Whether rows have a message type, by its name in a schema: the body's if there is one."""
        return self.has_versions if self.wrapped is None else self.wrapped.has_versions
