"""Feeds: what a user declares in YAML, as frozen nouns. `feeds.load` reads the files."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from lake_assets.model.base import Identifier, Noun
from lake_assets.model.checks import Duration, SilverCheck
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.sources import Source
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import TableRef, gold_of_all
from lake_assets.model.unique_names import refuse_twins

Trigger = Annotated[Duration, Field(ge=timedelta(milliseconds=100), le=timedelta(hours=1))]
"""Below 100 ms the looks for new rows alone keep a core busy; above an hour it is no stream."""


class Reset(StrEnum):
    """Whether a command may drop a feed's bronze table."""

    PROTECTED = "protected"  # no: the source may have forgotten what is in it
    ALLOWED = "allowed"


class Feed(Noun):
    """One declared stream, from its source to its gold views."""

    feed: Identifier
    """Its name; part of the names of its bronze and quarantine tables, and of Dagster's assets."""

    source: Source
    """Where its rows come from."""

    payload: Payload
    """How its values are decoded."""

    route: Route | None = None
    """Which table a row goes to; unset, all rows are of one key, which is called as the feed."""

    tables: TableNames = TableNames()
    """What the keys' tables are called."""

    expectations: tuple[Expectation, ...] = ()
    """Of each row, before it is written to silver."""

    checks: tuple[SilverCheck, ...] = ()
    """Of each key's silver table."""

    gold: tuple[GoldView, ...] = ()
    """Views over silver, which refreshes keep up to date."""

    trigger: Trigger | None = None
    """Time between two micro-batches of ingest (`1s`, `500ms`, `5m`); unset, that of the settings.
    Longer makes fewer and larger files and commits, shorter a lower latency."""

    reset: Reset = Reset.PROTECTED
    """`allowed`: `rebuild bronze` may drop bronze and read the source again. `protected`: it may
    not, since the source may have forgotten what is in bronze."""

    @field_validator("checks")
    @classmethod
    def _checks_have_names_of_their_own(
        cls, checks: tuple[SilverCheck, ...], info: ValidationInfo
    ) -> tuple[SilverCheck, ...]:
        """Expectations are checks of silver, too, where they are shown."""
        names = [check.name for check in checks]
        refuse_twins("checks", names)
        expectations = {e.name for e in info.data.get("expectations", ())}
        refuse_twins("expectations and checks", [*names, *expectations])
        return checks

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_twins("expectations", [e.name for e in self.expectations])
        refuse_twins("gold", [v.name for v in self.gold])
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The declared keys; without a route the one key there is."""
        return (self.feed,) if self.route is None else self.route.keys

    @property
    def creates_keys(self) -> bool:
        """Whether a key that is not declared gets its tables with its first row."""
        return self.route is not None and self.route.unknown is Unknown.CREATE

    @property
    def route_column(self) -> str | None:
        """Silver's column that names a row's key; None without a route."""
        return None if self.route is None else self.route.column

    def silver_table(self, key: str) -> TableRef:
        """The silver table of a key."""
        return self.tables.silver_of(key)

    def gold_table(self, view: GoldView, scope: str) -> TableRef:
        """The table of a view for a key, or for `EVERY_KEY` if it is over all."""
        if view.is_over_all:
            return gold_of_all(self.feed, view.name)
        return self.tables.gold_of(scope, view.name)
