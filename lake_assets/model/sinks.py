"""Sinks of a feed: where rows of its tables go to, and how they are shaped for it."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from lake_assets.model.base import Identifier, Noun
from lake_assets.model.rest import Rest
from lake_assets.model.retention import Keep

_SOURCE = re.compile(r"silver|gold\.(?P<view>[a-z][a-z0-9_]{0,62})")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")


def _readable_source(value: str) -> str:
    if _SOURCE.fullmatch(value) is None:
        message = f"{value!r} is neither `silver` nor a view, as `gold.player_agg`"
        raise ValueError(message)
    return value


def _shape(fields: dict[str, str]) -> dict[str, str]:
    if not fields:
        message = "names no field: leave it out to send all of a row's columns"
        raise ValueError(message)
    wrong = next((name for name in fields if not _NAME.fullmatch(name)), None)
    if wrong is not None:
        message = f"{wrong!r} is no name of a field: use letters, digits, _, - and ."
        raise ValueError(message)
    return fields


class Sink(Noun):
    """One place that rows of a feed's tables are sent to, as they come."""

    name: Identifier
    """Unique among the feed's sinks; part of the name of the table of its deliveries."""

    source: Annotated[str, AfterValidator(_readable_source), Field(alias="from")]
    """`silver`: the rows of all keys' tables. A view's rows cannot be sent yet."""

    where: str | None = Field(default=None, min_length=1)
    """An SQL condition over a row of the table; rows for which it is false or null are not sent."""

    select: Annotated[dict[str, str], AfterValidator(_shape)] | None = None
    """The fields that are sent, by name, each an SQL expression over a row: `{player: gamer_id,
    at: event_timestamp}`. Each row gives the same whenever it is sent. Unset, all columns of the
    row but those that say where it came from."""

    retention: Keep | None = None
    """Age after which what is known of a delivery may go (`90d`), and a dead letter; unset, they
    stay for ever. A row that is written to silver once more after that (`rebuild`, `RESTORE`, a
    file that others rewrite) is sent once more."""

    rest: Rest
    """An HTTP API that the rows are POSTed to."""

    @model_validator(mode="after")
    def _can_be_followed(self) -> Self:
        if self.view is not None:
            message = f"from: {self.source}: rows of views cannot be sent yet; use `silver`"
            raise ValueError(message)
        return self

    @property
    def view(self) -> str | None:
        """The view whose rows are sent; None if silver's are."""
        match = _SOURCE.fullmatch(self.source)
        return match["view"] if match else None
