"""What the registry said of a feed's schemas: picklable nouns of the driver's.

What they mean, and which columns come of them, is the business of the language they are in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

Path: TypeAlias = tuple[int, ...]
"""Where a message stands in its schema: index among the file's messages, then among the nested
messages of that one, and so on; maps' entries count, as they do in descriptors."""

FIRST: Path = (0,)
"""The schema's first message."""

FORGET_AFTER_S = 600.0
"""Age at which what the registry does not have is asked about again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """One version of a subject."""

    number: int

    descriptor_set: bytes = b""
    """Serialized `FileDescriptorSet`, imports before what imports them; empty if unusable."""

    problem: str = ""
    """Why it cannot be used: not protobuf, or not valid."""

    is_deleted: bool = False
    """Whether the registry no longer lists it. Its rows may be read, and it leads no others."""

    source: str = ""
    """Digest of what it was compiled from. A registry that was set up again gives the same id and
    number to something else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaSet:
    """A subject's versions, and what is known of the other schema ids that were met."""

    subject: str

    versions: Mapping[int, Version]
    """By schema id; deleted ones too if they were met."""

    message: str | None = None
    """Full name of the one message type that the feed takes; None takes all that have the route's
    column."""

    met: frozenset[tuple[int, Path]] = frozenset()
    """Rows' schema ids and messages that have columns because of such rows alone."""

    unrounded: frozenset[str] = frozenset()
    """Columns of integers that must not become doubles, whatever versions say."""

    unknown_ids: frozenset[int] = frozenset()
    """Ids that the registry answered it does not have."""

    foreign_ids: frozenset[int] = frozenset()
    """Ids that the registry has under other subjects only."""

    waiting_ids: frozenset[int] = frozenset()
    """Ids that the registry could not be asked about; their rows wait, see `for_next_batch`."""

    is_flooded: bool = False
    """Whether so many ids were met at once that any id which is not the subject's counts as
    unknown. Holds for the batch in hand: `for_next_batch` takes it back."""

    answered_at: float = 0.0
    """When the oldest of the unknown and foreign ids was asked about; seconds since 1970."""

    of_keys: Any = None
    """What is known of the schemas of rows' keys, for the format that reads them
    (`formats.framed_keys`); nobody else looks inside."""

    @property
    def version(self) -> int:
        """Number of the newest version."""
        return max((version.number for version in self.versions.values()), default=0)

    @property
    def known_ids(self) -> frozenset[int]:
        """Ids of all versions."""
        return frozenset(self.versions)

    def unanswered(self, ids: Iterable[int]) -> frozenset[int]:
        """Which of `ids` the registry must be asked about."""
        answered = self.known_ids | self.unknown_ids | self.foreign_ids
        return frozenset(ids) - answered

    def let_wait(self, ids: Iterable[int]) -> Self:
        """The same where rows of these ids wait, since the registry does not answer."""
        return replace(self, waiting_ids=self.waiting_ids | self.unanswered(ids))

    def meet(self, pairs: Iterable[tuple[int, Path]]) -> Self:
        """The same after rows of these schema ids and messages were met."""
        return replace(self, met=self.met | frozenset(pairs))

    def alone(self, schema_id: int) -> Self:
        """One version, as if there were no other."""
        met = frozenset(pair for pair in self.met if pair[0] == schema_id)
        return replace(self, versions={schema_id: self.versions[schema_id]}, met=met)

    def keep_integers(self, columns: Iterable[str]) -> Self:
        """The same where these columns are not made doubles."""
        return replace(self, unrounded=self.unrounded | frozenset(columns))

    def with_others(
        self, unknown: Iterable[int], foreign: Iterable[int], now: float, *, most: int = 10_000
    ) -> Self:
        """The same with ids that are not the subject's.

        Args:
            unknown: ids that the registry does not have.
            foreign: ids that it has under other subjects only.
            now: seconds since 1970.
            most: ids that are remembered. Each costs some bytes in every task's plan; with more,
                all but these ones are forgotten, and asked about if they are met again.
        """
        unknown, foreign = frozenset(unknown), frozenset(foreign)
        before = len(self.unknown_ids) + len(self.foreign_ids)
        is_full = before + len(unknown) + len(foreign) > most
        return replace(
            self,
            unknown_ids=unknown if is_full else self.unknown_ids | unknown,
            foreign_ids=foreign if is_full else self.foreign_ids | foreign,
            answered_at=now if is_full or not before else self.answered_at,
        )

    def for_next_batch(self, now: float, *, forget_after_s: float = FORGET_AFTER_S) -> Self:
        """The same without answers that may have changed: an id that was unknown may be registered.

        Args:
            now: seconds since 1970.
            forget_after_s: age at which unknown and foreign ids are asked about again. Shorter
                asks the registry more often for rows that stay bad; longer quarantines rows of a
                version registered late.
        """
        is_as_it_was = not self.is_flooded and not self.waiting_ids
        schemas = self if is_as_it_was else replace(self, is_flooded=False, waiting_ids=frozenset())
        is_old = bool(self.unknown_ids or self.foreign_ids)
        if not is_old or now - self.answered_at < forget_after_s:
            return schemas
        return replace(schemas, unknown_ids=frozenset(), foreign_ids=frozenset())
