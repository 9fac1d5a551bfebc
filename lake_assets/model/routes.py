"""Routes: what of a row names its key, and which keys have tables."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from lake_assets.model.base import KeyName, Noun
from lake_assets.model.unique_names import both

KEY_TYPES = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date")
"""Types whose values make keys, as Spark SQL names them: each value has one text."""

_PATH = re.compile(r"[a-z][a-z0-9_]{0,62}(?:\.[A-Za-z_][A-Za-z0-9_]{0,127})*")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Unknown(StrEnum):
    """What becomes of a row whose key is not among the route's keys."""

    QUARANTINE = "quarantine"  # kept in the quarantine table until the key is declared
    CREATE = "create"  # the key gets its tables with its first row


class TableColumns(StrEnum):
    """Which columns the tables of a feed's keys have."""

    SHARED = "shared"  # those of all keys
    OWN = "own"  # those of the messages that go there


def _column_path(value: str) -> str:
    if _PATH.fullmatch(value) is None:
        message = (
            f"{value!r} is neither a column nor a field of one\nwrite `kind` or `payload.kind`, or "
            "route by `sql`"
        )
        raise ValueError(message)
    return value


def _header_name(value: str) -> str:
    if _CONTROL.search(value):
        message = f"{value!r} has control characters"
        raise ValueError(message)
    return value


class Route(Noun):
    """What of a row names its key, and which keys have tables.

    One of `column`, `sql`, `header`, `topic` and `message` says what is read.
    """

    column: Annotated[str, AfterValidator(_column_path)] | None = None
    """Column of silver whose value is the row's key, or a field of a struct: `payload.kind`."""

    sql: str | None = Field(default=None, min_length=1)
    """Expression over silver's columns whose value is the row's key: `lower(kind)`. It is the same
    whenever it is computed; null where it cannot be."""

    header: Annotated[str, Field(min_length=1), AfterValidator(_header_name)] | None = None
    """Name of the Kafka header whose value, UTF-8, is the row's key; the last of several headers
    of that name. Quarantine keeps the headers then, so that rows can be requeued."""

    topic: bool = False
    """`true`: the name of the row's topic is its key."""

    message: bool = False
    """`true`: the type of the row's message is its key: the full name that a protobuf message or
    an Avro record has in the registry's schema. Names with dots and capitals need `aliases`."""

    aliases: dict[str, KeyName] = Field(default_factory=dict)
    """Which key a text means, where it is not the key itself: `{Poker: poker, "com.acme.Uno":
    uno}`. Several texts may mean one key; it is the key that must be known."""

    keys: tuple[KeyName, ...] = ()
    """Keys that have tables from the start: 1 to 64 lower-case letters, digits and `_` each."""

    unknown: Unknown = Unknown.QUARANTINE
    """What becomes of a row with another key: `quarantine` keeps it until the key is declared,
    `create` makes tables for the key with its first row."""

    @model_validator(mode="after")
    def _reads_one_thing(self) -> Self:
        fields = ("column", "sql", "header", "topic", "message")
        given = [name for name in fields if getattr(self, name) not in {None, False}]
        if len(given) != 1:
            message = f"{both(given)}\ngive one of column, sql, header, topic and message"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _keys_are_unique_and_present(self) -> Self:
        twice = sorted({key for key in self.keys if self.keys.count(key) > 1})
        if twice:
            message = f"keys are given twice: {', '.join(twice)}\nleave each there once"
            raise ValueError(message)
        if not self.keys and self.unknown is Unknown.QUARANTINE:
            message = "no keys and `unknown: quarantine` would quarantine everything\n"
            message += "add `keys: […]`, or `unknown: create`"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _aliases_lead_to_keys(self) -> Self:
        for text, key in self.aliases.items():
            if key not in self.keys and self.unknown is Unknown.QUARANTINE:
                message = f"aliases: {text!r} means {key}, which is none of the keys"
                raise ValueError(message)
            if text in self.keys and text != key:
                message = f"aliases: {text!r} is a key itself, and would mean {key}"
                raise ValueError(message)
        return self

    @property
    def plain_column(self) -> str | None:
        """The column that is read as it is; None if it is a field of one, or something else."""
        return self.column if self.column and "." not in self.column else None

    @property
    def expression(self) -> str | None:
        """The SQL that is read, of a field or an expression; None if it is something else."""
        if self.column is None or self.plain_column:
            return self.sql
        return ".".join(f"`{part}`" for part in self.column.split("."))

    @property
    def what(self) -> str:
        """What is read, in words: `kind`, `header event-type`, `topic`."""
        if self.header is not None:
            return f"header {self.header}"
        return self.column or self.sql or ("topic" if self.topic else "message type")
