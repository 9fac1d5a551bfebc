"""A sink that is a table of a database, as a feed declares it; writing it is `sinks.sql`'s."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.postgres import (
    DatabaseAddress,
    DatabaseColumn,
    DatabaseTimeout,
    QualifiedTable,
    schema_and_name,
)
from lake_assets.model.rest import Secret
from lake_assets.model.unique_names import refuse_twins


class SqlSink(Noun):
    """A table of PostgreSQL that rows are written to."""

    url: DatabaseAddress
    """The database: `postgresql+psycopg://host/database`, with libpq's options behind a `?`, such
    as `sslmode=verify-full`. Without user and password."""

    table: QualifiedTable
    """The table, with its schema or without: `public.sessions`."""

    user: Annotated[str, Field(min_length=1)] | Secret | None = None
    """Who writes, or where that is to be had: `{env: SESSIONS_USER}`."""

    password: Secret | None = None
    """The password; unset where the server asks for none."""

    key: tuple[DatabaseColumn, ...] = ()
    """Fields by which a row of the table is told from others, which need a unique index together: a
    row whose key is there takes the other's place, if it is newer. Unset, rows are only added."""

    version: DatabaseColumn | None = None
    """Field by which the newer of two rows with the same key is told, such as `at`; an equal one
    counts as newer. Unset, it is the time and the offset of the row's event, which the table keeps
    in the columns `_lake_time` and `_lake_offset`."""

    origin: DatabaseColumn | None = None
    """Text column that gets where a row came from, one text a row. Without a `key` it is the key:
    no row is twice in the table, whatever is repeated."""

    create_table: bool = False
    """Whether the table is created if it is not there, and gets columns that rows have and it has
    not. Else it must be as rows are."""

    rows_per_call: int = Field(default=500, ge=1, le=10_000)
    """Most rows of one transaction."""

    calls_in_flight: int = Field(default=1, ge=1, le=32)
    """Transactions at the same time, each over a connection of its own."""

    timeout: DatabaseTimeout = timedelta(seconds=30)
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
        return schema_and_name(self.table)[0]

    @property
    def table_name(self) -> str:
        """The table without its schema."""
        return schema_and_name(self.table)[1]
