"""Expectations: conditions on single rows, and what becomes of those that violate one."""

from enum import StrEnum
from typing import Self

from pydantic import AliasChoices, Field, model_validator

from lake_assets.model.base import Identifier, KeyName, Noun


class Action(StrEnum):
    """What becomes of a row that violates an expectation."""

    WARN = "warn"  # kept and counted
    DROP = "drop"  # dropped and counted
    QUARANTINE = "quarantine"  # to the quarantine table, with the expectation's name
    FAIL = "fail"  # the stream stops before anything of the row's batch is committed


MAX_SHARE = 0.05
"""One row in twenty: stray bad rows are what quarantine is for, and a producer that broke is soon
above it. Of a batch with fewer rows than that a single one is an error."""


class Expectation(Noun):
    """A named Spark SQL condition over decoded columns; null counts as violated."""

    name: Identifier
    """Unique among a feed's or a view's expectations and checks."""

    sql: str = Field(min_length=1)
    """Condition that a good row fulfils."""

    action: Action = Action.WARN
    """What becomes of a row that violates it: `warn` keeps and counts it, `drop` drops and counts
    it, `quarantine` moves it to the quarantine table; with `fail` the stream stops before anything
    of the row's batch is committed."""

    keys: tuple[KeyName, ...] | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("keys", "games")
    )
    """Keys whose rows are judged; all of them if unset."""

    max_share: float | None = Field(default=None, ge=0, le=1)
    """Of `quarantine`: the share of a batch's rows above which it is an error, and up to which a
    warning; unset, 0.05."""

    blocking: bool = False
    """Whether a key that fails it keeps its gold views as they are until it passes again. With
    `quarantine` it fails for that above `max_share` only: the rows below it are not in silver."""

    @model_validator(mode="after")
    def _share_is_of_what_is_quarantined(self) -> Self:
        if self.max_share is not None and self.action is not Action.QUARANTINE:
            message = f"max_share is of `action: quarantine`, not of {self.action}"
            raise ValueError(message)
        return self

    @property
    def allowed_share(self) -> float:
        """`max_share`, or what it is by default."""
        return MAX_SHARE if self.max_share is None else self.max_share

    def concerns(self, key: str) -> bool:
        """Whether the rows of a key are judged."""
        return self.keys is None or key in self.keys
