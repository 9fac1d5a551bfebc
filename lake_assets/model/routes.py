"""Routes: the column that names a row's key, and which keys have tables."""

from enum import StrEnum
from typing import Self

from pydantic import model_validator

from lake_assets.model.base import Identifier, KeyName, Noun

KEY_TYPES = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date")
"""Types whose values make keys, as Spark SQL names them: each value has one text."""


class Unknown(StrEnum):
    """What becomes of a row whose key is not among the route's keys."""

    QUARANTINE = "quarantine"  # kept in the quarantine table until the key is declared
    CREATE = "create"  # the key gets its tables with its first row


class Route(Noun):
    """Which decoded column names the key, and which keys have tables."""

    column: Identifier
    """Name of the decoded column whose value is the row's key."""

    keys: tuple[KeyName, ...] = ()
    """Keys that have tables from the start: 1 to 64 lower-case letters, digits and `_` each."""

    unknown: Unknown = Unknown.QUARANTINE
    """What becomes of a row with another key: `quarantine` keeps it until the key is declared,
    `create` makes tables for the key with its first row."""

    @model_validator(mode="after")
    def _keys_are_unique_and_present(self) -> Self:
        twice = sorted({key for key in self.keys if self.keys.count(key) > 1})
        if twice:
            message = f"keys are given twice: {', '.join(twice)}"
            raise ValueError(message)
        if not self.keys and self.unknown is Unknown.QUARANTINE:
            message = "no keys and `unknown: quarantine` would quarantine everything"
            raise ValueError(message)
        return self
