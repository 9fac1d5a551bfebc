"""What is told of one row of a source: where it is, and in which tables; frozen nouns."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.origins import Origin
from lake_assets.model.tables import TableRef

DELIVERED, DEAD_LETTER = "delivered", "dead_letter"
"""Reasons of places in the tables of deliveries."""

DUPLICATE = "duplicate"
"""`Place.reason` of a row that was left out since its event was there."""


ERASED = "erased"
"""`Place.reason` of a row that is erased."""

BY_PLACE = "where it is: a row there was erased"
"""By what a row is erased that came again, of which nothing else is known."""


class Whereabouts(StrEnum):
    """Where a message is."""

    NOT_IN_SOURCE = "not_in_source"  # the source has not come so far, by its own word
    NOT_INGESTED = "not_ingested"  # ingest has not come so far
    GAP = "gap"  # the source had it no more when it was its turn
    PASSED = "passed"  # ingest has passed its offset and bronze does not have it
    BRONZE = "bronze"  # in bronze alone: demux has not come so far
    WAITING = "waiting"  # beside bronze: the registry could not be asked about its schema yet
    SILVER = "silver"  # in a key's table
    QUARANTINE = "quarantine"  # refused, for a reason
    DUPLICATE = "duplicate"  # left out, since silver has its event by another message
    ERASED = "erased"  # whose it is was asked to be forgotten: only where it was is known
    DROPPED = "dropped"  # demuxed, and in no table


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One table that has the message."""

    table: TableRef
    file: LakeUri
    version: int
    """The commit that added the file, as it lies there now: compaction makes new ones."""

    is_exact: bool
    """False if the log has forgotten the commit: then it is `version`'s or an older one."""

    key: str | None = None
    rows: int = 1
    """Of the message in the file: `explode` makes several of one."""

    reason: str | None = None
    """Why quarantine has it, and what that means for this message."""

    detail: str | None = None
    at: datetime | None = None
    """When bronze or quarantine got it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """What is known of one message."""

    feed: str
    origin: Origin
    whereabouts: Whereabouts
    words: str
    """The same in a sentence."""

    places: tuple[Place, ...] = ()
    """In the order data travels: bronze first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far the streams had got before any table was looked into."""

    ingested: int | None
    """First offset of the partition that ingest has not taken; None if it has taken none."""

    demuxed: int | None = None
    """First offset of the partition that demux has not taken; None if it has taken none."""
