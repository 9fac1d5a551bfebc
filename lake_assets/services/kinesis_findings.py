"""The doctor's look at Kinesis streams that feeds read."""

from collections.abc import Iterator

from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.services.finding import Finding, Health
from lake_assets.services.source_findings import ANSWER_S, look_at_sources
from lake_assets.settings.schema import Settings
from lake_assets.sources.kinesis.landed import position_at
from lake_assets.storage.store import Store


def look_at_kinesis_sources(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    return look_at_sources(settings, "Kinesis stream", lambda source: source.kinesis, _look)


def _look(thing: str, lake: Store, feed: str, source: KinesisSource) -> Iterator[Finding]:
    # boto3 need not be there where no feed reads from Kinesis.
    from lake_assets.sources.kinesis.unseen import ensure_readable  # noqa: PLC0415

    found = ensure_readable(source, position_at(lake, feed), within_s=ANSWER_S)
    stream = found.stream
    hours = stream.retention_ms // 3_600_000
    shards = f"{stream.open_shards} open shard{'' if stream.open_shards == 1 else 's'}"
    read = "nothing of it was read yet"
    if found.since_ms is not None:
        behind_h = max(0, stream.now_ms - found.since_ms) / 3_600_000
        read = f"it was read up to {behind_h:.1f} h ago"
    fact = f"{source.stream} has {shards} and keeps records for {hours} h; {read}"
    yield Finding(thing=thing, health=Health.OK, fact=fact)
