"""How long rows stay: what a feed declares of its layers, and what that means for a table."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import ColumnName, Duration

Keep = Annotated[Duration, Field(ge=timedelta(hours=1), le=timedelta(days=36_525))]
"""Below an hour, a row might go before the views have it; above a century, no time is so early."""


class Reset(StrEnum):
    """Whether a command may drop a feed's bronze table."""

    PROTECTED = "protected"  # no: the source may have forgotten what is in it
    ALLOWED = "allowed"


class SilverRetention(Noun):
    """How long silver keeps a row."""

    keep: Keep
    """Age after which a row may go (`90d`); a day later it is gone, if maintenance runs."""

    column: ColumnName | None = None
    """Timestamp column by which a row is so old, such as the time of its event; a row without a
    value goes by the time at which the source got it, and so do all if this is unset."""

    @model_validator(mode="before")
    @classmethod
    def _is_short(cls, value: object) -> object:
        """`90d` alone is how long."""
        return value if isinstance(value, dict | SilverRetention) else {"keep": value}


class LayerRetention(Noun):
    """How long bronze or quarantine keeps a row."""

    retention: Keep | None = None
    """Age after which a row may go (`90d`), by the time at which the source got it, or else we;
    unset, rows stay for ever."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Age:
    """How old rows of a table may become."""

    keep: timedelta
    columns: tuple[str, ...]
    """Timestamps that tell how old a row is: the first that it has a value in."""

    @classmethod
    def of(cls, keep: timedelta | None, *columns: str | None) -> Self | None:
        """Of what is declared; None of rows that stay for ever."""
        named = tuple(name for name in columns if name)
        return None if keep is None else cls(keep=keep, columns=named)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowAges:
    """How old the rows of a file are."""

    oldest: datetime | None
    """No row is older; None if no row tells how old it is."""

    newest: datetime | None
    """No row is younger; None if a row may not tell how old it is."""
