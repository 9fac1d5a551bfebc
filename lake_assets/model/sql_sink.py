"""A sink that is a table of a database, as a feed declares it; writing it is `sinks.sql`'s."""

import re
from datetime import timedelta
from typing import Annotated, Self
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, Field, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import Duration
from lake_assets.model.rest import Secret
from lake_assets.model.unique_names import refuse_twins

_SCHEMES = frozenset({"postgresql", "postgresql+psycopg"})

_TABLE = re.compile(r"(?:[^\W\d][\w$]{0,62}\.)?[^\W\d][\w$]{0,62}")

_EXAMPLE = "write postgresql+psycopg://host/database"


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is none
    except ValueError as problem:
        message = f"is no address ({problem}): {_EXAMPLE}"
        raise ValueError(message) from problem
    if parts.scheme not in _SCHEMES:
        message = f"is no address of PostgreSQL: {_EXAMPLE}"
    elif "@" in parts.netloc or {"user", "password"} & parse_qs(parts.query).keys():
        message = "has a user or a password: they go into `user` and `password`"
    elif parts.path.strip("/") == "":
        message = f"names no database: {_EXAMPLE}"
    else:
        return url
    raise ValueError(message)


def _table(value: str) -> str:
    if _TABLE.fullmatch(value) is None:
        message = f"{value!r} is no table: write schema and table, as `public.sessions`"
        raise ValueError(message)
    return value


ColumnName = Annotated[str, Field(min_length=1, max_length=63)]

Timeout = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(minutes=10))]


class SqlSink(Noun):
    """A table of PostgreSQL that rows are written to."""

    url: Annotated[str, AfterValidator(_address)]
    """The database: `postgresql+psycopg://host/database`, with libpq's options behind a `?`, such
    as `sslmode=verify-full`. Without user and password."""

    table: Annotated[str, AfterValidator(_table)]
    """The table, with its schema or without: `public.sessions`."""

    user: Annotated[str, Field(min_length=1)] | Secret | None = None
    """Who writes, or where that is to be had: `{env: SESSIONS_USER}`."""

    password: Secret | None = None
    """The password; unset where the server asks for none."""

    key: tuple[ColumnName, ...] = ()
    """Fields by which a row of the table is told from others, which need a unique index together: a
    row whose key is there takes the other's place, if it is newer. Unset, rows are only added."""

    version: ColumnName | None = None
    """Field by which the newer of two rows with the same key is told, such as `at`; an equal one
    counts as newer. Unset, it is the time and the offset of the row's event, which the table keeps
    in the columns `_lake_time` and `_lake_offset`."""

    origin: ColumnName | None = None
    """Text column that gets where a row came from, one text a row. Without a `key` it is the key:
    no row is twice in the table, whatever is repeated."""

    create_table: bool = False
    """Whether the table is created if it is not there, and gets columns that rows have and it has
    not. Else it must be as rows are."""

    rows_per_call: int = Field(default=500, ge=1, le=10_000)
    """Most rows of one transaction."""

    calls_in_flight: int = Field(default=1, ge=1, le=32)
    """Transactions at the same time, each over a connection of its own."""

    timeout: Timeout = timedelta(seconds=30)
    """How long connecting may take, and each statement."""

    @model_validator(mode="after")
    def _fields_go_together(self) -> Self:
        refuse_twins("key", list(self.key))
        if self.version is not None and not self.key:
            message = "version tells which row of a key is newer, and there is no key"
            raise ValueError(message)
        if self.version in self.key:
            message = f"version: {self.version} is part of the key, which newer rows share"
            raise ValueError(message)
        if self.origin is not None and self.origin in {*self.key, self.version}:
            message = f"origin: {self.origin} is a field of the row already"
            raise ValueError(message)
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that each row needs to have."""
        return (*self.key, *([self.version] if self.version else []))

    @property
    def schema_name(self) -> str | None:
        """The table's schema; None where it is the one that the database looks in."""
        return self.table.rpartition(".")[0] or None

    @property
    def table_name(self) -> str:
        """The table without its schema."""
        return self.table.rpartition(".")[2]
