"""Requeue and rebuild from start to end: their turn, Spark, where the streams stand, the change.

They run beside the live streams, in a process of their own. What changes is `silver.redo`'s work.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from time import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from tenacity import RetryError, retry, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.bronze.rows import FILE_SCHEMA
from lake_assets.errors import LakeError, StreamError
from lake_assets.lake.catalog import ensure_known, games_found
from lake_assets.lake.change import Batch
from lake_assets.lake.files import active_files
from lake_assets.lake.history import open_table
from lake_assets.lake.journal import Journal, journal_of
from lake_assets.lake.means import Means, lake_means
from lake_assets.lake.origins import From
from lake_assets.lake.session import start_session
from lake_assets.lake.state import turn, turn_if_free
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Hop
from lake_assets.model.tables import bronze_of
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux import Demux
from lake_assets.silver.redo import Redo, Redone, finish
from lake_assets.streams.position import Settled, checkpoint_of, settled
from lake_assets.streams.schemas import cached_registry

_SETTLES_WITHIN_S = 120.0
"""Seconds within which live streams should finish the commit of bronze that they are in."""

_TURN = "redo"


def requeue(
    settings: Settings, feed: Feed, endpoints: Endpoints, games: Sequence[str] | None = None
) -> Redone:
    """Move quarantined rows that now decode, route and pass to silver, exactly once.

    Raises:
        FeedError: the lake has no such game.
        ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    ensure_known(feed, games_found(settings.lake_dir, feed), games or ())
    with _redo(settings, feed, endpoints) as redo:
        return redo.requeue(games)


def rebuild_silver(
    settings: Settings,
    feed: Feed,
    endpoints: Endpoints,
    *,
    games: Sequence[str] | None = None,
    since: datetime | None = None,
) -> Redone:
    """Derive silver and quarantine anew from bronze; each table changes in one commit.

    Args:
        settings: where the lake is.
        feed: whose tables.
        endpoints: where the registry is.
        games: only theirs; all by default.
        since: only of rows that came into bronze since then.

    Raises:
        FeedError: the lake has no such game.
        ExpectationFailedError: rows violate an expectation that fails; nothing was changed.
        StreamError: the streams never ran, or do not settle.
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    ensure_known(feed, games_found(settings.lake_dir, feed), games or ())
    stands = _await_settled(settings, feed)
    with _redo(settings, feed, endpoints) as redo:
        rows = _bronze(redo.session, settings, feed, stands.bronze_version)
        if since is None:
            return redo.rebuild(rows, stands.batch, games)
        rows = rows.where(F.col("ingested_at") >= F.lit(since))
        return redo.rebuild(rows, stands.batch, games, _starts(rows))


def finish_interrupted(means: Means, settings: Settings, feed: Feed) -> None:
    """Finish a requeue or a rebuild that died between two commits, unless another is under way.

    Raises:
        LakeError: the lake cannot be written.
    """
    with turn_if_free(settings.state_dir, _TURN) as is_free:
        if is_free:
            finish(_journal(settings, feed), means.door, feed)


@contextmanager
def _redo(settings: Settings, feed: Feed, endpoints: Endpoints) -> Iterator[Redo]:
    registry, payload = cached_registry(settings, endpoints), feed.payload.protobuf
    journal = _journal(settings, feed)
    with turn(settings.state_dir, _TURN), lake_means(settings) as means:
        finish(journal, means.door, feed)
        session = start_session(settings, ensure_runtime(settings))
        try:
            yield Redo(
                session=session,
                demux=Demux(
                    feed=feed,
                    means=means,
                    journal=journal,
                    newest=lambda: registry.newest(payload.subject, payload.message),
                    resolve=registry.resolve,
                    report=lambda _: None,
                ),
                journal=journal,
                batch=Batch(app_id=f"lake_assets-redo-{feed.feed}", version=int(time() * 1000)),
            )
        finally:
            session.stop()


def _journal(settings: Settings, feed: Feed) -> Journal:
    return journal_of(settings.state_dir, feed.feed, _TURN)


def _await_settled(settings: Settings, feed: Feed) -> Settled:
    checkpoint = checkpoint_of(settings.state_dir, feed.feed, Hop.DEMUX)

    @retry(
        retry=retry_if_result(lambda found: found is None),
        stop=stop_after_delay(_SETTLES_WITHIN_S if any(checkpoint.glob("commits/*")) else 0),
        wait=wait_fixed(0.5),
    )
    def look() -> Settled | None:
        return settled(checkpoint)

    try:
        found = look()
    except RetryError as problem:
        raise StreamError(
            f"demux of feed {feed.feed!r}",
            "has finished no batch, or is in the midst of a large one",
            "Let the streams run on, then try again",
        ) from problem
    assert found is not None  # noqa: S101 - else it was retried
    return found


def _bronze(session: SparkSession, settings: Settings, feed: Feed, version: int) -> DataFrame:
    table = bronze_of(feed.feed)
    handle = open_table(settings.lake_dir, table)
    if handle is None:
        raise LakeError(str(table.path(settings.lake_dir)), "is gone", "Restore it from a backup")
    handle.load_as_version(version)
    schema = from_arrow_schema(FILE_SCHEMA)
    files = [str(table.path(settings.lake_dir) / f.path) for f in active_files(handle)]
    if not files:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(*files)


def _starts(rows: DataFrame) -> From:
    """In each partition, the first offset of these rows: bronze has a partition's rows in order."""
    first = rows.groupBy("topic", "partition").agg(F.min("offset").alias("offset")).collect()
    return From({(row["topic"], row["partition"]): row["offset"] for row in first})
