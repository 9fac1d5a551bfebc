"""How far the shards of a stream were read, and which may be read next. Pure.

A shard that is split or merged ends; those that follow name it as a parent, and are read once it
was read to its end, so that rows of one partition key keep their order. Of each shard it is known
since when records may be unread (`Shard.sure_ms`): what is older than the stream's retention may be
deleted unread.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Self

_EDGE_MS = 3_600_000
"""Milliseconds after a shard's begin in which nothing counts as lost: where reading begins with the
oldest record, those beside it are deleted while it begins."""

_MARGIN_MS = 60_000
"""Milliseconds by which records may be older than Kinesis says: it tells their times about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """What Kinesis tells of a stream."""

    arn: str
    created_ms: int
    retention_ms: int
    now_ms: int
    """When it answered, by its own clock."""

    open_shards: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Last:
    """The last record of an answer."""

    number: str
    """Its sequence number."""

    at_ms: int
    """When it arrived."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A shard as the stream tells of it."""

    shard: str
    parents: tuple[str, ...] = ()
    hashes: tuple[int, int] | None = None
    """The first and the last hash of its records' keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """How far a shard was read."""

    parents: tuple[str, ...] = ()
    after: str | None = None
    """Sequence number of the last record that was read."""

    since_ms: int | None = None
    """Before the first record, the time from which on records are read; None for all."""

    sure_ms: int | None = None
    """All records that arrived before this were read, or are none of ours; in milliseconds since
    1970, by Kinesis' clock. None of a shard of which nothing is known."""

    begun_ms: int = 0
    """When reading began, or went on behind what was lost."""

    is_done: bool = False
    """Whether it was read to its end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a stream was read."""

    arn: str
    created_ms: int
    """When it was created: another of the same name is of another time."""

    shards: Mapping[str, Shard]

    @property
    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Self:
        """Of `text`.

        Raises:
            ValueError: it is of something else.
        """
        try:
            told = json.loads(text)
            shards = {
                name: Shard(**{**shard, "parents": tuple(shard["parents"])})
                for name, shard in told["shards"].items()
            }
            return cls(arn=told["arn"], created_ms=told["created_ms"], shards=shards)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            message = f"is no position in a stream: {text}"
            raise ValueError(message) from problem

    @property
    def readable(self) -> list[str]:
        """The shards that are read next: none of their parents has records that were not."""
        return sorted(
            name
            for name, shard in self.shards.items()
            if not shard.is_done and not any(self._is_open(parent) for parent in shard.parents)
        )

    def _is_open(self, name: str) -> bool:
        shard = self.shards.get(name)
        return shard is not None and not shard.is_done

    @property
    def sure_ms(self) -> int | None:
        """Since when records may be unread; None if nothing tells."""
        told = [s.sure_ms for s in self.shards.values() if not s.is_done and s.sure_ms is not None]
        return min(told, default=None)

    def with_shard(self, name: str, shard: Shard) -> "Position":
        """With another state of a shard."""
        return replace(self, shards={**self.shards, name: shard})

    def freed(self, name: str) -> "Position":
        """With what follows a shard, once that was read to its end: its records are younger."""
        found = self
        for child, shard in self.shards.items():
            if name in shard.parents and not any(self._is_open(p) for p in shard.parents):
                parents = [self.shards[p].sure_ms or 0 for p in shard.parents if p in self.shards]
                sure = max(shard.sure_ms or 0, min(parents))
                found = found.with_shard(child, replace(shard, sure_ms=sure))
        return found


def begun(stream: Stream, listed: Iterable[Listed], since_ms: int | None) -> Position:
    """Where a stream is begun.

    Args:
        stream: as it is.
        listed: its shards.
        since_ms: the time from which on records are read; None for all.
    """
    now_ms = stream.now_ms
    oldest_ms = now_ms - stream.retention_ms
    shards = {
        one.shard: Shard(parents=one.parents, since_ms=since_ms, sure_ms=oldest_ms, begun_ms=now_ms)
        for one in listed
    }
    return Position(arn=stream.arn, created_ms=stream.created_ms, shards=shards)


def with_listed(position: Position, listed: Sequence[Listed], now_ms: int) -> Position:
    """A position with the shards that came since, and without those that are over.

    Args:
        position: before.
        listed: all shards that the stream has.
        now_ms: the time by Kinesis' clock.
    """
    there = {one.shard for one in listed}
    shards = {n: s for n, s in position.shards.items() if n in there or not s.is_done}
    for one in listed:
        if one.shard not in shards:
            sure = _came_after(position, one)
            begun_ms = now_ms if sure is None else 0
            shards[one.shard] = Shard(parents=one.parents, sure_ms=sure, begun_ms=begun_ms)
    return replace(position, shards=shards)


def _came_after(position: Position, one: Listed) -> int | None:
    """A time that no record of a new shard is older than."""
    parents = [position.shards[p] for p in one.parents if p in position.shards]
    told = [s.sure_ms for s in parents or position.shards.values() if s.sure_ms is not None]
    return min(told, default=None)


def gone(position: Position, listed: Sequence[Listed]) -> list[str]:
    """Shards that the stream has no more, though they were not read to their ends."""
    there = {one.shard for one in listed}
    return sorted(n for n, s in position.shards.items() if not s.is_done and n not in there)


def may_have_lost(shard: Shard, now_ms: int, retention_ms: int) -> bool:
    """Whether records may have been deleted that were not read.

    Args:
        shard: how far it was read.
        now_ms: the time by Kinesis' clock.
        retention_ms: how long the stream keeps records.
    """
    if shard.sure_ms is None or now_ms - shard.begun_ms <= _EDGE_MS:
        return False
    return now_ms - shard.sure_ms > retention_ms - _MARGIN_MS


def after_answer(
    shard: Shard, *, last: Last | None, has_next: bool, behind_ms: int, now_ms: int
) -> Shard:
    """A shard after an answer to a reading.

    Args:
        shard: before it.
        last: its last record; None without records.
        has_next: whether there may be further ones; else the shard is read to its end.
        behind_ms: how far the answer is behind the newest record.
        now_ms: when it came, by Kinesis' clock.
    """
    after = shard.after if last is None else last.number
    # Shards that follow one have records since it was open the last time, and no sooner: of its
    # end itself nothing tells when that was.
    until = now_ms - behind_ms if has_next else 0 if last is None else last.at_ms
    sure = max(until, shard.sure_ms or 0)
    return replace(shard, after=after, sure_ms=sure, is_done=not has_next)
