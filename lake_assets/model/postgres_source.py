"""A table of PostgreSQL as a source, as a feed declares it; reading it is `sources.postgres`'."""

from datetime import timedelta
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from lake_assets.model.checks import Duration
from lake_assets.model.one_source import TABLE, OneSource
from lake_assets.model.origins import OriginColumns
from lake_assets.model.postgres import (
    DatabaseAddress,
    DatabaseColumn,
    DatabaseTimeout,
    QualifiedTable,
)
from lake_assets.model.rest import Secret
from lake_assets.model.unique_names import refuse_twins


class PostgresSource(OneSource):
    """A table or view of PostgreSQL whose rows are read as they come and change."""

    kind: ClassVar[str] = "postgres"
    system: ClassVar[str] = "PostgreSQL"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="database_table", partition=None, offset="ordinal", time="read_at"
    )

    url: DatabaseAddress
    """The database: `postgresql+psycopg://host/database`, with libpq's options behind a `?`, such
    as `sslmode=verify-full`. Without user and password."""

    table: QualifiedTable
    """The table or view, with its schema or without: `public.purchases`."""

    user: Annotated[str, Field(min_length=1)] | Secret | None = None
    """Who reads, or where that is to be had: `{env: BILLING_USER}`. SELECT is all it needs."""

    password: Secret | None = None
    """The password; unset where the server asks for none."""

    watermark: DatabaseColumn
    """Column that gets a greater value whenever a row comes or changes: a time (`updated_at`), or
    an integer. With an index that begins with it, only rows that may be new are looked at."""

    key: Annotated[tuple[DatabaseColumn, ...], Field(min_length=1)]
    """Columns that tell a row from all others, never null."""

    late: Annotated[Duration, Field(gt=timedelta(0))] | Annotated[int, Field(gt=0)] | None = None
    """How far the watermark of a row may be behind the first statement by which its transaction
    writes, however long that takes after it: a duration, or, of an integer, a number. What is this
    far behind is looked at again. Unset, it is 10 minutes, or 10,000. Of a replica, a
    foreign table and a materialized view it must be declared, as long as transactions last."""

    timeout: DatabaseTimeout = timedelta(minutes=1)
    """How long connecting may take, and each answer of the database."""

    @model_validator(mode="after")
    def _columns_are_told_once(self) -> Self:
        refuse_twins("key", list(self.key))
        return self

    @property
    def on_gap(self) -> Literal["stop"]:
        """What was read is kept until bronze has it."""
        return "stop"

    @property
    def name(self) -> str:
        """All rows are of the one table."""
        return TABLE

    @property
    def label(self) -> str:
        """The table."""
        return self.table

    @property
    def title(self) -> str:
        """Which table of which database."""
        return f"table {self.table!r} of {self.url.partition('?')[0]}"
