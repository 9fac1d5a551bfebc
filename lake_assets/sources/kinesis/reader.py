"""Reading shards from where they are, and finding out whether records of them were lost."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lake_assets.sources.kinesis.client import (
    Answer,
    Client,
    ExpiredIteratorError,
    NoSuchRecordError,
    ThrottledError,
)
from lake_assets.sources.kinesis.position import Shard, may_have_lost

_EVERY_S = 0.2
"""Seconds between two readings of a shard, which gives five a second to all who read it."""

_THROTTLED_S = 60.0
"""Seconds that a shard is tried for while others take what it gives."""

_LIMIT = 10_000
"""Records of an answer, of which Kinesis gives 10 MB at most."""

_LOOKS = 20
"""Answers without records that are read on for one: Kinesis gives some where a shard has few."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Got:
    """What came of a shard."""

    answer: Answer
    is_lost: bool
    """Whether records before these may have been deleted unread."""


@dataclass(kw_only=True)
class ShardReader:
    """Reads shards; threads may share it, each with a shard of its own."""

    client: Client
    _iterators: dict[str, str] = field(default_factory=dict)
    _next_at: dict[str, float] = field(default_factory=dict)

    def forget(self) -> None:
        """Begin at positions again: what came since then was not kept."""
        self._iterators.clear()

    def read(self, name: str, shard: Shard, *, now_ms: int, retention_ms: int) -> Got:
        """What comes next.

        Args:
            name: of the shard.
            shard: how far it was read.
            now_ms: the time by Kinesis' clock, about.
            retention_ms: how long the stream keeps records.

        Raises:
            SourceError: Kinesis does not answer, refuses us, or others take what it gives.
        """
        is_lost = may_have_lost(shard, now_ms, retention_ms) and not self._is_there(name, shard)
        if is_lost:
            self._iterators[name] = self.client.iterator(name, "TRIM_HORIZON")
        try:
            answer = self._records(name, shard)
        except NoSuchRecordError:
            is_lost = True
            self._iterators[name] = self.client.iterator(name, "TRIM_HORIZON")
            answer = self._records(name, shard)
        if answer.next is None:
            self._iterators.pop(name, None)
        else:
            self._iterators[name] = answer.next
        return Got(answer=answer, is_lost=is_lost)

    def _records(self, name: str, shard: Shard) -> Answer:
        until = time.monotonic() + _THROTTLED_S
        while True:
            iterator = self._iterators.get(name) or self._opened(name, shard)
            self._iterators[name] = iterator
            try:
                return self._ask(name, iterator, _LIMIT)
            except ExpiredIteratorError:
                del self._iterators[name]
            except ThrottledError:
                if time.monotonic() > until:
                    raise

    def _opened(self, name: str, shard: Shard) -> str:
        if shard.after is not None:
            return self.client.iterator(
                name, "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=shard.after
            )
        if shard.since_ms is not None:
            at = datetime.fromtimestamp(shard.since_ms / 1000, UTC)
            return self.client.iterator(name, "AT_TIMESTAMP", Timestamp=at)
        return self.client.iterator(name, "TRIM_HORIZON")

    def _ask(self, name: str, iterator: str, limit: int) -> Answer:
        time.sleep(max(0.0, self._next_at.get(name, 0.0) - time.monotonic()))
        self._next_at[name] = time.monotonic() + _EVERY_S
        return self.client.records(iterator, limit=limit)

    def _is_there(self, name: str, shard: Shard) -> bool:
        """Whether the last record that was read is still there: then those behind it are."""
        if shard.after is None:
            return False
        try:
            iterator: str | None = self.client.iterator(
                name, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=shard.after
            )
            for _ in range(_LOOKS):
                if iterator is None:
                    return False
                answer = self._ask(name, iterator, 1)
                if answer.records:
                    return bool(answer.records[0]["SequenceNumber"] == shard.after)
                iterator = answer.next
        except (NoSuchRecordError, ExpiredIteratorError):
            return False
        return False
