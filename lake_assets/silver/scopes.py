"""Which of the rows that demux derives are written, where only some are meant."""

from dataclasses import dataclass
from enum import StrEnum


class Refused(StrEnum):
    """Which refused rows are written to quarantine."""

    ALL = "all"
    JUDGED = "judged"  # those that an expectation refuses
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Which rows are written; all are judged and counted. Erased ones always are."""

    keys: tuple[bool, ...] | None = None
    """By index of the key, whether its rows are; of all keys if None."""

    is_any: bool = True
    """Of a row in several tables: whether one of its keys is enough, or all must be."""

    refused: Refused = Refused.ALL


EVERYTHING = Scope()
