"""Erasures: whose rows are erased and are to stay so, told by keyed hashes of values. Pure.

A person is known by the value of a column. The value itself is in no erasure: what is kept, obeyed
and shown is its hash. Where erasures are kept is `state.erasure_ledger`'s.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from lake_assets.model.origins import ByPlace, Place, Spans


class Later(StrEnum):
    """What becomes of a person's rows that the source gets after the request."""

    DROP = "drop"
    KEEP = "keep"


class ErasureState(StrEnum):
    """How far an erasure is; each state follows the one before it."""

    NOTED = "noted"
    """Rows that come now are judged by it; those that are there are looked for."""

    FOUND = "found"
    """The places of all rows that were there are recorded; values are needed no longer."""

    REMOVED = "removed"
    """No table's newest version has them."""

    ENDED = "ended"
    """No older version, and no log, has them either."""

    DONE = "done"
    """Nor has any backup that the lake knows of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """One request: some values of one column."""

    id: str
    """Of no other erasure."""

    requested_at: datetime
    column: str
    """Of silver's tables, whichever feeds' they are."""

    digests: tuple[str, ...]
    """Of each value (`digest_of`), and of what it is where a table hides the column by a hash."""

    later: Later
    cuts: Mapping[str, ByPlace] = field(default_factory=dict)
    """By feed and place, the source's next offset when the request was made: rows below are
    erased, and those that come from there on as `later` says. A place that is not told has none
    below."""

    state: ErasureState = ErasureState.NOTED
    rows: Mapping[str, int] = field(default_factory=dict)
    """By table, rows that left it."""

    is_proved: bool = False
    """Whether a scan of everything found nothing of it."""

    @property
    def progress(self) -> int:
        """How far it is, as a number."""
        return [*ErasureState].index(self.state)

    @property
    def is_ended(self) -> bool:
        """Whether nothing of the lake tells of its rows any more."""
        return self.state in (ErasureState.ENDED, ErasureState.DONE)

    def concerned(self, feed: str, spans: Spans) -> Spans:
        """Of rows with the value, those that are erased."""
        if self.later is Later.DROP:
            return spans
        cuts = self.cuts.get(feed, {})
        cut = {
            place: [(a, min(b, cuts.get(place, 0))) for a, b in its if a < cuts.get(place, 0)]
            for place, its in spans.items()
        }
        return {place: its for place, its in cut.items() if its}

    def concerns(self, feed: str, place: Place, offset: int) -> bool:
        """Whether a row with the value, there, is erased."""
        return self.later is Later.DROP or offset < self.cuts.get(feed, {}).get(place, 0)


def digest_of(key: bytes, column: str, value: str) -> str:
    """The keyed hash of a column's value: HMAC-SHA-256 (RFC 2104), 64 hexadecimal digits.

    Args:
        key: of the lake.
        column: name, in any case: the same text is another person's in another column.
        value: a text; of a whole number `number_text`, of bytes `bytes_text`.
    """
    return digests_of(key, column)(value)


def digests_of(key: bytes, column: str) -> Callable[[str], str]:
    """As `digest_of`, for many values: what the key and the column decide is done once."""
    begun = hmac.new(key, f"{column.lower()}\0".encode(), hashlib.sha256)

    def digest(value: str) -> str:
        one = begun.copy()
        one.update(value.encode())
        return one.hexdigest()

    return digest


NUMBER, BYTES = "\0number ", "\0bytes "
"""Before what is hashed of values that are no texts: a text of the same characters is another
person's."""


def number_text(value: int) -> str:
    """What is hashed of a whole number."""
    return f"{NUMBER}{value}"


def bytes_text(value: bytes) -> str:
    """What is hashed of bytes."""
    return f"{BYTES}{value.hex()}"


@dataclass(frozen=True, slots=True)
class Erasures:
    """All of a lake's, and the key of their hashes."""

    key: bytes = field(default=b"", repr=False)
    every: tuple[Erasure, ...] = ()
    """In the order in which they were requested."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.every)

    @property
    def columns(self) -> frozenset[str]:
        """Names of columns, in lower case, whose values are judged."""
        return frozenset(erasure.column.lower() for erasure in self.every)

    def of(self, column: str) -> Mapping[str, tuple[Erasure, ...]]:
        """By digest, the erasures of a column's values."""
        found: dict[str, tuple[Erasure, ...]] = {}
        for erasure in self.every:
            if erasure.column.lower() == column.lower():
                for digest in erasure.digests:
                    found[digest] = (*found.get(digest, ()), erasure)
        return found

    def united(self, others: "Erasures") -> "Erasures":
        """With those of another ledger of the same key; of one that both have, the one further."""
        known = {erasure.id: erasure for erasure in self.every}
        further = [
            one
            for one in others.every
            if one.id not in known or one.progress > known[one.id].progress
        ]
        return replace(self or others, every=self.with_changed(further).every)

    def with_changed(self, changed: Iterable[Erasure]) -> "Erasures":
        """With some erasures in the place of those of the same id, or after all others."""
        new = {erasure.id: erasure for erasure in changed}
        kept = tuple(new.pop(one.id, one) for one in self.every)
        return Erasures(self.key, (*kept, *new.values()))
