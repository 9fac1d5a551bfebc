"""Where a row came from: what a source's columns for it are called, and the place of one row.

A source has a name, one or more partitions, and in each its rows in an order that it does not
change. The three together are a row's identity, whichever source it is: a topic, its partition and
an offset; a file and a row's number.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_MARK = "_"
"""What the columns' names begin with in silver, beside the columns that were decoded."""

FEED = _MARK + "feed"
"""string: column of silver tables that several feeds fill, the feed that a row is of. Null in rows
from before there were several; these are of the feed whose tables they are."""

PROBLEM = "_problem"
"""string: column of bronze, of sources that tell, why a row has no value; null of others."""

SCHEMA_ID = "schema_id"
"""Column of bronze and quarantine, `_schema_id` in silver: which schema a value names, or null."""


IDENTITY_PARTS = ("name", "partition", "offset")
"""Of `OriginColumns`, those that tell a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedRows:
    """Which rows of a silver table are one feed's, if several feeds fill it (`FEED`)."""

    feed: str
    has_unnamed: bool
    """Whether rows are its as well that name no feed: those of the tables' owner."""

    is_named: bool
    """Whether new rows of it name it: there are several feeds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OriginColumns:
    """What bronze and quarantine call the columns that say where a row came from."""

    name: str
    """string: of the source within its kind, such as a topic."""

    partition: str | None
    """int: which part of the source; None of a source without parts: all of it is part 0."""

    offset: str
    """bigint: grows within a partition; no two rows of a partition have the same."""

    time: str | None = None
    """timestamp: when the source got the row; None of a source that does not tell."""

    further: tuple[str, ...] = ()
    """What else says it, called so in all tables: `_file`, `_row`."""

    whose: FeedRows | None = None
    """Whose rows are meant where a table has several feeds'; None means all rows of any table."""

    tables: "OriginColumns | None" = None
    """Those of the feed whose silver tables rows go into, if its source is of another kind: there,
    a row's name, partition, offset and time are in that one's columns."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Those by which a row is told from all others."""
        return tuple(name for part in IDENTITY_PARTS if (name := getattr(self, part)))

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order in which tables have them."""
        return (*self.identity, *([self.time] if self.time else []), *self.further)

    @property
    def in_silver(self) -> "OriginColumns":
        """What silver calls them."""
        named = self if self.tables is None else self.tables
        return OriginColumns(
            name=_MARK + named.name,
            partition=named.partition and _MARK + named.partition,
            offset=_MARK + named.offset,
            time=named.time and _MARK + named.time,
            further=self.further,
            whose=self.whose,
        )

    def goes_into(self, other: "OriginColumns") -> bool:
        """Whether a table can tell its rows that names them by the columns of another kind."""
        return all(getattr(other, one) or not getattr(self, one) for one in ("partition", "time"))

    def key_of(self, origin: "Origin") -> dict[str, str | int]:
        """What the columns of a row's identity hold."""
        parts = {} if self.partition is None else {self.partition: origin.partition}
        return {self.name: origin.name, **parts, self.offset: origin.offset}


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedSource:
    """A source that a table may have rows of."""

    kind: str
    """In a word: `kafka`."""

    name: str
    """Within its kind; without a colon."""

    origin: OriginColumns


Place: TypeAlias = tuple[str, int]
"""A source's name, such as a topic, and one of its partitions."""

ByPlace: TypeAlias = Mapping[Place, int]
"""Offsets by name and partition."""

Spans: TypeAlias = Mapping[Place, Sequence[tuple[int, int]]]
"""By partition, first offsets and those after the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """Which offsets a feed's source has, or its sources, if it reads several."""

    begins: ByPlace
    """The first that it still has; of each partition."""

    ends: ByPlace
    """The one that the next row gets."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the sources that are there, in their order."""
        return tuple(sorted({name for name, _ in self.begins}))

    def of(self, names: Collection[str]) -> "Extent":
        """That of some of the sources."""
        return Extent(begins=of_names(self.begins, names), ends=of_names(self.ends, names))


def of_names(offsets: ByPlace, names: Collection[str]) -> dict[Place, int]:
    """Offsets of some sources."""
    return {place: at for place, at in offsets.items() if place[0] in names}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row came from."""

    name: str
    """Of the source within its kind: a topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        """In the form that `lake-assets trace` takes apart, too: `topic/0/17`."""
        return f"{self.name}/{self.partition}/{self.offset}"
