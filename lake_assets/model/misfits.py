"""What becomes of values that fit no column, as a payload declares it, and where they are."""

from enum import StrEnum

from lake_assets.model.ddl import Column
from lake_assets.model.sources import ORIGIN_NAMES

RESCUED = "_rescued"
"""Column of what did not fit the others: JSON text, or null."""


RECORD = "_record"
"""Name in `_rescued` of a record of CSV that has more or fewer fields than there are columns."""


class OnMismatch(StrEnum):
    """What becomes of a value that does not fit its column."""

    RESCUE = "rescue"  # the column is null, and the value in `_rescued`
    QUARANTINE = "quarantine"  # the whole row goes to the quarantine table


class OnUnknown(StrEnum):
    """What becomes of a value whose name nobody declared."""

    RESCUE = "rescue"  # it is in `_rescued`
    ADD_COLUMNS = "add_columns"  # it gets a column of the type that it has
    IGNORE = "ignore"  # it is in bronze alone
    QUARANTINE = "quarantine"  # the whole row goes to the quarantine table
    FAIL = "fail"  # its batch is not committed, and the feed stops until somebody decides


def refuse_taken(columns: tuple[Column, ...], *others: str) -> None:
    """Refuse columns that silver has already.

    Raises:
        ValueError: there are such.
    """
    for column in columns:
        if column.name.lower() in {*ORIGIN_NAMES, RESCUED, *others}:
            message = f"{column.name} is a column that silver has already\nchoose another name"
            raise ValueError(message)
