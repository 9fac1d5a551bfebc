"""Asking a stream without landing anything: whether it is the one, what waits in it, since when."""

from contextlib import closing
from dataclasses import dataclass

from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.sources.kinesis.client import Client
from lake_assets.sources.kinesis.position import Position, Stream, gone, with_listed
from lake_assets.sources.kinesis.reader import ShardReader
from lake_assets.sources.kinesis.same_stream import ensure_same, is_same

_NOTED_SHARE = 4
"""A fraction of the retention after which a run is due though nothing came: it notes that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What a look at a stream found."""

    stream: Stream
    since_ms: int | None
    """Since when records may wait; None before anything was read."""


def ensure_readable(
    source: KinesisSource, known: Position | None, *, within_s: float | None = None
) -> Waiting:
    """Make sure that the stream answers and is the one that was read, and tell since when it waits.

    Args:
        source: what is declared.
        known: how far it was read.
        within_s: for an answer.

    Raises:
        SettingsError: a secret is not there.
        SourceError: it does not answer, refuses us, or is another one, where that stops the feed.
    """
    with closing(Client(source, within_s=within_s)) as client:
        stream = client.stream()
    if known is not None:
        ensure_same(source, known, stream)
    return Waiting(stream=stream, since_ms=None if known is None else known.sure_ms)


def has_new_records(source: KinesisSource, known: Position | None) -> bool:
    """Whether a pass would land records, or note something.

    Raises:
        SettingsError: a secret is not there.
        SourceError: as `ensure_readable`.
    """
    if known is None:
        return True
    with closing(Client(source)) as client:
        stream, listed = client.stream(), client.shards()
        if not is_same(known, stream) or gone(known, listed):
            return True
        position = with_listed(known, listed, stream.now_ms)
        is_old = stream.now_ms - (position.sure_ms or 0) > stream.retention_ms / _NOTED_SHARE
        if is_old or position.shards.keys() - known.shards.keys():
            return True
        reader = ShardReader(client=client)
        for name in position.readable:
            got = reader.read(
                name,
                position.shards[name],
                now_ms=stream.now_ms,
                retention_ms=stream.retention_ms,
            )
            answer = got.answer
            if got.is_lost or answer.records or answer.next is None or answer.behind_ms:
                return True
    return False
