"""Whether a stream is the one that was read before, and what is told where it is not. Pure."""

from datetime import UTC, datetime

from lake_assets.errors import SourceError
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.sources.kinesis.position import Position, Stream

ANOTHER = "another stream of the name is read from here on; of the former nothing can be read"
"""What the row says that is recorded where one stream takes another's place."""


def is_same(known: Position, stream: Stream) -> bool:
    """Whether a stream is the one of a position."""
    return (known.arn, known.created_ms) == (stream.arn, stream.created_ms)


def ensure_same(source: KinesisSource, known: Position, stream: Stream) -> None:
    """Refuse another stream than was read, unless it is of the same name and that is recorded.

    Rows are known by the stream's name and their number: under another name all that landed would
    come again.

    Raises:
        SourceError: it is refused.
    """
    if is_same(known, stream):
        return
    problem = another(source, known, stream)
    if _name(known.arn) != _name(stream.arn):
        step = f"Put back `stream: {_name(known.arn)}`; give the new one a feed of its own"
        raise SourceError(problem.thing, problem.fact, step)
    if source.on_gap == "stop":
        raise problem


def another(source: KinesisSource, known: Position, stream: Stream) -> SourceError:
    """The error of a stream that is another one."""
    fact = (
        f"is another stream than was read so far: {stream.arn}, created {_utc(stream.created_ms)}, "
        f"was {known.arn}, created {_utc(known.created_ms)}"
    )
    step = "Correct the feed's source; or go on with the new one (`on_gap: record`)"
    return SourceError(source.title, fact, step)


def lost(source: KinesisSource, shard: str, since_ms: int | None) -> SourceError:
    """The error of a shard whose records may have been deleted before they were read."""
    since = "" if since_ms is None else f" that arrived since {_utc(since_ms)}"
    fact = (
        f"may have deleted records of {shard}{since} before they were read: they are older than it "
        "keeps them (its retention)"
    )
    step = (
        "Let the feed go on behind them (`on_gap: record` of its source), which keeps that in "
        "quarantine; and have the stream keep records for longer"
    )
    return SourceError(source.title, fact, step)


def _name(arn: str) -> str:
    return arn.rpartition("/")[2]


def _utc(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
