"""Requeue and rebuild from start to end: their turn, Spark, where the streams stand, the change.

They run beside the live streams, in a process of their own. What changes is `silver.reprocess`'s
work.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lake_assets.delta.catalog import ensure_known, keys_found
from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, ensure_files_exist
from lake_assets.delta.log_history import open_table
from lake_assets.delta.offset_range import Range
from lake_assets.delta.renamed_tables import ensure_none_renamed, movable_tables
from lake_assets.delta.table_log import log_of
from lake_assets.errors import FeedError, LakeError, StreamError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import Spans
from lake_assets.model.tables import Layer, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_position import Position
from lake_assets.silver.find_erased import find_erased
from lake_assets.silver.lay_out_tables import lay_out_tables
from lake_assets.silver.redone import Redone
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.unused_columns import drop_unused
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.spark.lent_session import LendSpark, session_for
from lake_assets.state.files import streams_lock, turn, turn_if_free
from lake_assets.state.lake_id import ensure_bound
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.bronze_ranges import (
    apart_of,
    ensure_in_order,
    ensure_reaches,
    of_time,
    retained_of,
    rows_of,
    within,
)
from lake_assets.streams.current_position import current_position, unbegun, unheard
from lake_assets.streams.deduplication_turn import deduplication_turn
from lake_assets.streams.demux_loop import tables_of_silver
from lake_assets.streams.key_rotation import rotating
from lake_assets.streams.noted_changes import REDO_TURN, finish_change, reprocess_journal
from lake_assets.streams.pipeline import demux_journal
from lake_assets.streams.rebuild_all import (
    accept_restores,
    ensure_renamable,
    from_nothing,
    under_new_names,
)
from lake_assets.streams.schemas import format_with


def requeue(
    settings: Settings,
    feed: Feed,
    endpoints: Endpoints,
    keys: Sequence[str] | None = None,
    *,
    with_skipped: bool = False,
) -> Redone:
    """Move quarantined rows that now decode, route and pass to silver, exactly once.

    Rows of skipped batches are left, unless they are asked for.

    Raises:
        FeedError: the lake has no such key, or the feed's silver under other names.
        ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    ensure_bound(settings)
    _ensure_has_silver(feed)
    ensure_known(feed, keys_found(lake_of(settings), feed), keys or ())
    ensure_none_renamed(lake_of(settings), feed, Layer.SILVER)
    with turn(settings.state_dir, REDO_TURN), _redo(settings, feed, endpoints) as redo:
        finish_change(redo.journal, redo.demux.context, feed)
        return redo.requeue(keys, with_skipped=with_skipped)


def rebuild_silver(  # noqa: PLR0913 - of what, which of it, and where
    settings: Settings,
    feed: Feed,
    endpoints: Endpoints,
    *,
    keys: Sequence[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    lend: LendSpark | None = None,
) -> Redone:
    """Derive silver and quarantine again from bronze; each table changes in one commit.

    All of it (no `keys` and no times) also repairs a lake whose tables do not fit together; the
    streams must not run then, and the streams themselves refuse to.

    All rows of all keys end under the newest names of their fields. Columns that then hold nothing
    and that no row's message makes are dropped, if the streams do not run.

    Tables that the feed lays out otherwise than they are get its layout first, unless only rows
    of some time are derived; the streams must not run then.

    All of it hashes with the masking key that is set; where that is another one than before, the
    streams must not run.

    Tables that the feed had under other names are dropped at the end of all of it; the streams must
    not run then either, since they may go by the old names.

    Args:
        settings: where the lake is.
        feed: whose tables.
        endpoints: where the registry is.
        keys: only theirs; all by default.
        since: only of rows that came into bronze since then.
        until: only of rows that came into bronze before then.
        lend: gives the Spark session; by default one is started, and stopped at the end.

    Raises:
        SettingsError: `until` is not after `since`.
        FeedError: the lake has no such key, or the feed's silver under other names and only a
            part is to be derived, or one of them has the name that another is to have.
        ExpectationFailedError: rows violate an expectation that fails; nothing was changed.
        StreamError: silver's tables do not fit together, and only a part is to be derived; or
            bronze lacks rows that would leave silver.
        StreamsLockedError: they do not, or have other names or another layout now, and the streams
            run.
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    ensure_in_order(since, until)
    ensure_bound(settings)
    _ensure_has_silver(feed)
    ensure_known(feed, keys_found(lake_of(settings), feed), keys or ())
    if open_table(lake_of(settings), bronze_of(feed.feed)) is None:
        raise unbegun(feed)
    is_all = keys is None and since is None and until is None
    with (
        turn(settings.state_dir, REDO_TURN),
        _redo(settings, feed, endpoints, rotates=is_all, lend=lend) as redo,
        rotating(redo.demux, settings.state_dir) if is_all else nullcontext(),
    ):
        return rebuild(redo, settings.state_dir, keys=keys, since=since, until=until)


def _ensure_has_silver(feed: Feed) -> None:
    if not feed.has_silver:
        step = "Rows that a sink has not got are sent by `lake-assets redeliver`"
        raise FeedError(f"feed {feed.feed!r}", "has no silver tables (`silver: none`)", step)


def rebuild(
    redo: Redo,
    state_dir: Path,
    *,
    keys: Sequence[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Redone:
    """As `rebuild_silver`, with Spark started and the turn taken."""
    is_of_a_time = since is not None or until is not None
    is_all = keys is None and not is_of_a_time
    feed, context = redo.demux.feed, redo.demux.context
    bronze = context.committer.fresh(bronze_of(feed.feed))
    if not is_all:
        ensure_none_renamed(context.lake, feed, Layer.SILVER)
    elif renamed := movable_tables(context.lake, feed, Layer.SILVER):
        ensure_renamable(context.lake, feed, renamed)
        accept_restores(redo)
        lay_out_tables(redo.demux, state_dir, keys)
        with streams_lock(state_dir):
            return under_new_names(redo, renamed)
    try:
        finish_change(redo.journal, context, feed)
        position = current_position(redo, state_dir, bronze)
        if is_all:
            _ensure_files(redo)
    except (LakeError, StreamError):
        if not is_all:
            raise
        accept_restores(redo)
        lay_out_tables(redo.demux, state_dir, keys)
        with streams_lock(state_dir):
            # Half a change stays noted until this one is: both say the same of what to do.
            return from_nothing(redo, bronze)
    if not is_of_a_time:
        # Once a batch that was cut off is whole: its files are laid out as the tables were.
        lay_out_tables(redo.demux, state_dir, keys)
    return _up_to(redo, state_dir, position, keys, (since, until))


def _up_to(
    redo: Redo,
    state_dir: Path,
    position: Position,
    keys: Sequence[str] | None,
    time: tuple[datetime | None, datetime | None],
) -> Redone:
    """Derive again what demux has taken; a stream may run."""
    feed, context = redo.demux.feed, redo.demux.context
    # Opened again: the stream may have gone on since, and the position with it.
    bronze = context.committer.fresh(bronze_of(feed.feed))
    ensure_reaches(redo.demux.context.lake, feed, bronze, position.offsets)
    every = rows_of(redo.session, feed, bronze)
    retained = retained_of(feed, bronze, position.offsets) or None
    apart = apart_of(context, feed, every)
    whole = Range(ends=position.offsets, retained=retained, apart=apart)
    if keys is None and time == (None, None):
        # Before, since they may keep rows out; after, since values may have left them.
        drop_unused(redo.demux, state_dir)
        redone = redo.rebuild(within(redo.session, feed, every, whole))
        drop_unused(redo.demux, state_dir)
        return redone
    return redo.rebuild(within(redo.session, feed, every, of_time(feed, every, whole, *time)), keys)


def _ensure_files(redo: Redo) -> None:
    """Make sure that all files are there whose rows are to leave; raises `LakeError`."""
    feed, context = redo.demux.feed, redo.demux.context
    tables = [*tables_of_silver(context.lake, feed), quarantine_of(feed.feed)]
    for table, handle in context.committer.opened(tables).items():
        ensure_files_exist(table, log_of(context.lake, table), active_files(handle))


def erased_by_decoding(
    settings: Settings,
    feed: Feed,
    endpoints: Endpoints,
    bronze: Sequence[DataFile],
    *,
    aside: bool,
    session: SparkSession | None = None,
) -> Mapping[str, Spans]:
    """As `find_erased`, with Spark started unless it is given; the turn is the caller's.

    Raises:
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    lend = None if session is None else lambda: nullcontext(session)
    with _redo(settings, feed, endpoints, lend=lend) as redo:
        return find_erased(redo, bronze, aside=aside)


def finish_interrupted(context: LakeContext, settings: Settings, feed: Feed) -> None:
    """Finish a requeue or a rebuild that died between two commits, unless another is under way.

    Raises:
        StreamError: the feed's tables are not those that the last one left.
        LakeError: the lake cannot be written, or the change cannot be finished.
    """
    with turn_if_free(settings.state_dir, REDO_TURN) as is_free:
        if is_free:
            finish_change(reprocess_journal(context.lake, feed), context, feed)


@contextmanager
def _redo(
    settings: Settings,
    feed: Feed,
    endpoints: Endpoints,
    *,
    rotates: bool = False,
    lend: LendSpark | None = None,
) -> Iterator[Redo]:
    with session_for(settings, lend) as session:
        payload_format = format_with(settings, endpoints, feed, session, rotates=rotates)
        with open_lake(settings, session) as context:
            yield Redo(
                session=session,
                demux=Demux(
                    feed=feed,
                    feeds=load_feeds(settings.feeds),
                    context=context,
                    journal=demux_journal(settings.state_dir, feed),
                    format=payload_format,
                    schemas=payload_format,
                    report=unheard,
                    rounds=False,
                    turn=deduplication_turn(context, settings.state_dir, feed, unheard),
                ),
                journal=reprocess_journal(context.lake, feed),
            )
