"""Landing what comes to a stream: a pass reads shards, and commits rows with how far each is then.

Whatever is killed in between, each record lands once. Which shards are read next, and what may have
been lost: `sources.kinesis.position`.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pydantic import SecretStr

from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.settings.load import secret_of
from lake_assets.sources.kinesis.client import AT_ONCE, Client
from lake_assets.sources.kinesis.landed import COLUMNS, Rows
from lake_assets.sources.kinesis.position import (
    Listed,
    Position,
    Stream,
    after_answer,
    begun,
    gone,
    with_listed,
)
from lake_assets.sources.kinesis.reader import Got, ShardReader
from lake_assets.sources.kinesis.same_stream import ANOTHER, another, ensure_same, is_same, lost
from lake_assets.sources.landing.table import LandingTable, position_of
from lake_assets.storage.store import Store

_ROWS = 20_000
_BYTES = 32 * 1024 * 1024
"""Of rows that are committed at once, about."""

_LOOK_EVERY_S = 10.0
"""Seconds between two looks at the stream and its shards, while none of them ends: an account may
ask for twenty descriptions a second, in all."""

_AGAIN_S = 1.0
"""Seconds after which a shard is asked again that had nothing further, and rows are committed,
while another one is far behind."""

_NOTED_MS = 3_600_000
"""Milliseconds after which it is noted how far shards are that got no record: a feed that stands
still for as long as the stream keeps records would else not know whether it missed some."""


class StreamLanding:
    """Reads a feed's stream, and commits what is new; used by the one process that streams it."""

    def __init__(
        self,
        source: KinesisSource,
        lake: Store,
        feed: str,
        look_up: Callable[[str], SecretStr] = secret_of,
    ) -> None:
        """Open the table that rows land in, and create it if it is not there.

        Args:
            source: what is declared.
            lake: where the table is.
            feed: whose it is.
            look_up: knows secrets by their variables.

        Raises:
            SettingsError: a secret is not there.
            LakeError: the lake cannot be read or written.
        """
        self._source = source
        self._client = Client(source, look_up)
        self._reader = ShardReader(client=self._client)
        self._table = LandingTable(lake, feed, COLUMNS)
        self._position = position_of(self._table.position, feed, Position.of)
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._pass: Generator[None, None, None] | None = None
        self._rows = Rows(stream=source.stream)
        self._hashes: dict[str, tuple[int, int] | None] = {}
        self._look: tuple[Stream, list[Listed]] | None = None
        self._look_at, self._committed_at, self._now_ms = 0.0, 0.0, 0

    @property
    def end(self) -> int:
        """The offset that the next row gets."""
        return self._table.end

    def close(self) -> None:
        """Let go of Kinesis, and wait for what is under way; raises as `Committer.close`."""
        self._threads.shutdown()
        self._client.close()
        self._table.close()

    def pause(self) -> None:
        """Nothing is held: an iterator that expires meanwhile is made anew."""

    def step(self) -> bool:
        """Read some, and commit what is enough; False once a pass is at its begin's time.

        Raises:
            SourceError: Kinesis does not answer, refuses us, is not as it was, or may have deleted
                records.
            LakeError: the lake cannot be written.
        """
        if self._pass is None:
            self._pass = self._read()
        try:
            next(self._pass)
        except StopIteration:
            self._pass = None
            return False
        except BaseException:
            # What was not committed is read again.
            self._pass, self._rows = None, Rows(stream=self._source.stream)
            self._look = None
            self._reader.forget()
            raise
        return True

    def _read(self) -> Generator[None, None, None]:
        """A pass, some answers a step."""
        stream, listed = self._looked()
        position = self._begin(stream, listed)
        target_ms = self._now_ms + 1000  # Kinesis tells its time in whole seconds
        caught_up: dict[str, float] = {}
        while names := self._next(position, caught_up):
            has_ended = False
            for first in range(0, len(names), AT_ONCE):
                some = names[first : first + AT_ONCE]
                for name, got in zip(some, self._gotten(some, position, stream), strict=True):
                    position = self._taken(position, name, got)
                    shard = position.shards[name]
                    has_ended |= shard.is_done
                    if got.answer.behind_ms == 0 or (shard.sure_ms or 0) >= target_ms:
                        caught_up[name] = time.monotonic()
                if self._is_enough():
                    self._commit(position)
                yield
            if has_ended:
                stream, listed = self._looked(anew=True)
                position = self._listed(position, listed)
        if len(self._rows) or self._is_news(position):
            self._commit(position)

    def _looked(self, *, anew: bool = False) -> tuple[Stream, list[Listed]]:
        """The stream and its shards, as they were not long ago."""
        if anew or self._look is None or time.monotonic() >= self._look_at:
            self._look = self._client.stream(), self._client.shards()
            self._hashes |= {one.shard: one.hashes for one in self._look[1]}
            self._look_at = time.monotonic() + _LOOK_EVERY_S
            self._now_ms = max(self._now_ms, self._look[0].now_ms)
        return self._look

    def _next(self, position: Position, caught_up: Mapping[str, float]) -> list[str]:
        """The shards to ask next; none once all are as far as the pass is to come.

        Those that are so far are not left alone for the sake of one that is far behind.
        """
        names, before = position.readable, time.monotonic() - _AGAIN_S
        if caught_up.keys() >= {*names}:
            return []
        return [name for name in names if caught_up.get(name, before) <= before]

    def _is_enough(self) -> bool:
        if len(self._rows) >= _ROWS or self._rows.size >= _BYTES:
            return True
        return len(self._rows) > 0 and time.monotonic() - self._committed_at >= _AGAIN_S

    def _begin(self, stream: Stream, listed: list[Listed]) -> Position:
        """Where the pass begins."""
        known, source = self._position, self._source
        if known is not None and is_same(known, stream):
            return self._listed(known, listed)
        since_ms = None
        if known is not None:
            ensure_same(source, known, stream)
            self._rows.add_loss(ANOTHER, stream.now_ms, None)
        elif source.starting_position == "latest":
            since_ms = stream.now_ms
        elif source.begins_at is not None:
            since_ms = round(source.begins_at.timestamp() * 1000)
        position = begun(stream, listed, since_ms)
        self._commit(position)  # where it began is known before anything is read
        return position

    def _listed(self, position: Position, listed: list[Listed]) -> Position:
        for name in gone(position, listed):
            shard = position.shards[name]
            self._lose(name, shard.sure_ms)
            position = position.with_shard(name, replace(shard, is_done=True))
        return with_listed(position, listed, self._now_ms)

    def _gotten(self, names: Sequence[str], position: Position, stream: Stream) -> list[Got]:
        def read(name: str) -> Got:
            return self._reader.read(
                name, position.shards[name], now_ms=self._now_ms, retention_ms=stream.retention_ms
            )

        return list(self._threads.map(read, names))

    def _taken(self, position: Position, name: str, got: Got) -> Position:
        shard, answer = position.shards[name], got.answer
        self._now_ms = max(self._now_ms, answer.now_ms)
        if got.is_lost:
            if not is_same(position, stream := self._looked(anew=True)[0]):
                raise another(self._source, position, stream)
            self._lose(name, shard.sure_ms)
            shard = replace(shard, begun_ms=answer.now_ms)
        self._rows.add(name, answer.records, self._hashes.get(name))
        after = after_answer(
            shard,
            last=answer.last,
            has_next=answer.next is not None,
            behind_ms=answer.behind_ms,
            now_ms=answer.now_ms,
        )
        return position.with_shard(name, after).freed(name)

    def _lose(self, name: str, since_ms: int | None) -> None:
        """Records of a shard may be gone that were not read."""
        problem = lost(self._source, name, since_ms)
        if self._source.on_gap == "stop":
            raise problem
        self._rows.add_loss(f"{problem.thing} {problem.fact}", self._now_ms, name)

    def _is_news(self, position: Position) -> bool:
        """Whether how far it is has to be noted, without rows."""
        before = self._position
        if before is None or _states(before) != _states(position):
            return True
        return (position.sure_ms or 0) - (before.sure_ms or 0) >= _NOTED_MS

    def _commit(self, position: Position) -> None:
        rows, self._rows = self._rows, Rows(stream=self._source.stream)
        self._table.commit(rows.as_table(self.end), position.text)
        self._position, self._committed_at = position, time.monotonic()


def _states(position: Position) -> dict[str, tuple[str | None, bool]]:
    return {name: (shard.after, shard.is_done) for name, shard in position.shards.items()}


def open_landing(
    source: KinesisSource, lake: Store, feed: str, secrets: Mapping[str, SecretStr]
) -> StreamLanding:
    """Begin, in a process that has secrets by their variables, not the variables."""
    return StreamLanding(source, lake, feed, secrets.__getitem__)
