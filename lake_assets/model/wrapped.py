"""Where a wrapped message is in its envelope, as a feed declares it, and what cannot be so; pure.

Formats of both are `model.payload`'s.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from pydantic import Field, field_validator

from lake_assets.model.base import Noun
from lake_assets.model.ddl import Column, Scalar
from lake_assets.model.misfits import RESCUED

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_IDS = ("smallint", "int", "bigint")


class WrappedIn(Noun):
    """Where a body is in its envelope."""

    column: str = Field(min_length=1)
    """The envelope's column of bytes that holds the body; of a JSON envelope in Base64. Silver has
    no such column. A row without a body goes to quarantine (`empty_value`)."""

    schema_id: str | None = Field(default=None, min_length=1)
    """The envelope's column of integers that has the id of the body's schema, where the bytes are
    the body alone; of protobuf the schema's first message. Unset, the bytes begin with the id, in
    Confluent's framing."""

    prefix: str = ""
    """What the names of the body's columns begin with in silver: `body_` makes `body_id` of `id`.
    Without it they keep their names, none of which may be one of the envelope's."""

    @field_validator("prefix")
    @classmethod
    def _begins_a_name(cls, prefix: str) -> str:
        if prefix and not _PREFIX.fullmatch(prefix):
            message = f"{prefix!r} begins no name\nuse letters, digits and _, a letter first"
            raise ValueError(message)
        return prefix


class OneFormat(Protocol):
    """What is asked here of an encoding (`model.payload`)."""

    @property
    def format(self) -> str:
        """Its name."""

    @property
    def grows(self) -> bool:
        """Whether columns may come that nobody declared."""

    @property
    def needs_registry(self) -> bool:
        """Whether schemas are registered."""

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """Those that are declared."""

    @property
    def rescues(self) -> bool:
        """Whether there is a column `_rescued`."""


class Body(OneFormat, Protocol):
    """The encoding of bodies, and where they are."""

    @property
    def column(self) -> str:
        """As `WrappedIn.column`."""

    @property
    def schema_id(self) -> str | None:
        """As `WrappedIn.schema_id`."""

    @property
    def prefix(self) -> str:
        """As `WrappedIn.prefix`."""


def refuse_unreadable(envelope: OneFormat, body: Body) -> None:
    """Refuse what no row can be read by.

    Raises:
        ValueError: there is no such column, or a format that wraps nothing or is not wrapped.
    """
    complaints = (*_of_formats(envelope, body), *_of_columns(envelope, body))
    if message := next(filter(None, complaints), ""):
        raise ValueError(message)


def joined_columns(
    own: Sequence[Column], body: WrappedIn, of_body: Sequence[Column]
) -> tuple[Column, ...]:
    """The declared columns that silver has: the envelope's without the bytes, and the body's."""
    kept = [column for column in own if column.name != body.column]
    named = [replace(column, name=f"{body.prefix}{column.name}") for column in of_body]
    return (*kept, *named)


def _of_formats(envelope: OneFormat, body: Body) -> Iterator[str]:
    if "csv" in {envelope.format, body.format}:
        yield "wrapped: csv neither wraps nor is wrapped: both are protobuf, avro or json"
    if envelope.grows or body.grows:
        yield "wrapped: columns of both are declared or registered: no `infer`, no add_columns"
    if body.schema_id is not None and not body.needs_registry:
        yield "wrapped: schema_id: the body has no subject, so nobody knows its ids"
    if body.schema_id == body.column:
        yield f"wrapped: schema_id: {body.column} has the body\nname the column of its ids"


def _of_columns(envelope: OneFormat, body: Body) -> Iterator[str]:
    """What is wrong where the envelope's columns are declared; others the registry knows."""
    known = {column.name: column.type for column in envelope.own_columns}
    for field, name, kinds in _read(body) if known else ():
        if name not in known:
            yield f"wrapped: {field}: {name!r} is no column of the envelope: {', '.join(known)}"
        elif known[name] not in [Scalar(kind) for kind in kinds]:
            yield f"wrapped: {field}: {name!r} must be {' or '.join(kinds)}"
    own = {*_names(envelope, "")} - {body.column.lower()}
    for name in sorted(own.intersection(_names(body, body.prefix))):
        yield f"wrapped: envelope and body both have {name}\ngive a prefix, such as `body_`"


def _names(one: OneFormat, prefix: str) -> Iterator[str]:
    """Of the columns that are known without a registry, in lower case."""
    rescued = (RESCUED,) if one.rescues else ()
    for name in (*(column.name for column in one.own_columns), *rescued):
        yield f"{prefix}{name}".lower()


def _read(body: Body) -> list[tuple[str, str, tuple[str, ...]]]:
    ids = [("schema_id", body.schema_id, _IDS)] if body.schema_id is not None else []
    return [("column", body.column, ("binary",)), *ids]
