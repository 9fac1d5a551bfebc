"""Who may read which of a feed's tables, as the feed declares it."""

from collections.abc import Collection, Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from lake_assets.model.base import KeyName, Noun
from lake_assets.model.tables import Layer

_OF_KEYS = frozenset({Layer.SILVER, Layer.GOLD})
"""Layers whose tables are of one key each."""


class Grant(Noun):
    """That somebody may read tables of the feed; nobody but the lake writes them."""

    principal: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\s,]+$")]
    """As the catalogue knows it: a user or a group of Unity (`analysts`, `anna@example.com`), a
    role or user of AWS by its ARN."""

    layers: Annotated[tuple[Layer, ...], Field(min_length=1)]
    """`bronze`, `silver`, `gold` or `quarantine`, or several of them."""

    keys: tuple[KeyName, ...] = ()
    """Keys whose tables of silver and gold are meant; views over all keys are then none of them.
    Unset, all, also those that come later."""

    @model_validator(mode="after")
    def _names_tables(self) -> Self:
        if Layer.LOG in self.layers:
            message = "layers: the log's tables are of all feeds, and no feed's to grant"
            raise ValueError(message)
        whole = sorted(set(self.layers) - _OF_KEYS) if self.keys else []
        if whole:
            message = f"keys: a table of {whole[0]} has the rows of all keys; grant it without keys"
            raise ValueError(message)
        return self

    def covers(self, layer: Layer, key: str) -> bool:
        """Whether it is of a table.

        Args:
            layer: of the table.
            key: that the table is of; empty of one that is of none or of all.
        """
        return layer in self.layers and (not self.keys or key in self.keys)


def ensure_grants_fit(
    grants: Sequence[Grant], keys: Collection[str] | None, without: Collection[Layer]
) -> None:
    """Make sure that each grant is of tables that the feed may have.

    Args:
        grants: of the feed.
        keys: all that it can have; None where its route creates them.
        without: layers that it has no tables of.

    Raises:
        ValueError: one is not.
    """
    for grant in grants:
        absent = sorted(set(grant.layers) & set(without))
        if absent:
            message = f"grants: the feed has no tables of its own in {absent[0]}"
            raise ValueError(message)
        unknown = [key for key in grant.keys if keys is not None and key not in keys]
        if unknown:
            message = f"grants: the feed has no key {unknown[0]!r}"
            raise ValueError(message)
