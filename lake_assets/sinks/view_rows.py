"""What a sink of a view follows: rows that two versions of its tables do not have in common.

A batch goes from the versions that are done to others, which are recorded before its first call, so
that it is the same after a kill. Which rows differ is `sinks.changed_rows`'.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

from lake_assets.delta.table_log import log_of
from lake_assets.errors import FeedError
from lake_assets.model.sinks import CHANGE, UNSENT
from lake_assets.model.tables import TableRef
from lake_assets.model.view_sinks import row_key_of
from lake_assets.sinks.asked_rows import AskedRows
from lake_assets.sinks.base import IDENTITY
from lake_assets.sinks.calls import WaitingRows
from lake_assets.sinks.changed_rows import ChangedRows
from lake_assets.sinks.deliveries import Progress
from lake_assets.sinks.following import Ready, Whose
from lake_assets.sinks.row_hashes import RowBag, hash_rows
from lake_assets.sinks.shape import Shaped, Shaper
from lake_assets.sinks.view_batches import ViewBatch, next_batch
from lake_assets.sinks.view_position import begin_notes, done_notes
from lake_assets.sinks.view_tables import tables_of_view, with_change, with_key


class ViewRows:
    """Follows the tables of a feed's view; a `sinks.following.Following`."""

    def __init__(self, whose: Whose) -> None:
        """Nothing is looked at yet.

        Raises:
            FeedError: there is no such view.
        """
        self._lake, self._feed, self._sink = whose.lake, whose.feed, whose.sink
        self._deliveries = whose.deliveries
        self._view = whose.feed.view(whose.sink.view or "")
        self._key = row_key_of(whose.sink, self._view)
        is_hidden = whose.sink.deletes and whose.sink.kind not in {"rest", "python"}
        hidden = {*UNSENT, *([CHANGE] if is_hidden else [])}
        shaped = (whose.session, whose.feed, whose.sink, whose.target.rows_of)
        self._shaper = Shaper(*shaped, hidden=hidden)

    def next(self) -> Ready | None:
        """As `Following.next`."""
        self._deliveries.look_again()
        scopes = tables_of_view(self._lake, self._feed, self._view)
        batch = next_batch(self._lake, self._deliveries, list(scopes), self._key)
        if batch is None:
            return None
        self._ensure_keys(batch)
        return Ready(
            number=batch.begun.number,
            has_rows=batch.has_rows,
            begin=partial(self._begin, batch),
            rows=lambda: self._rows(batch, scopes),
            progress=progress_of(batch),
            end=lambda: None,
        )

    def rows_again(self, table: TableRef, asked: pa.Table) -> Iterator[Shaped]:
        """As `Following.rows_again`, of the version that is done; a row may be asked for twice.

        Of those that are not there, or not wanted, follows what is deleted, if the sink deletes.
        """
        scopes = tables_of_view(self._lake, self._feed, self._view)
        after = self._deliveries.point_of(table.relative)
        log = log_of(self._lake, table)
        if after.version < 0 or table not in scopes or not log.exists():
            return
        shape = partial(self._shaped, scopes[table])
        found = AskedRows(log=log, key=self._key, asked=asked, shape=shape)
        yield from found.rows(after.version, deletes=self._sink.deletes)

    def _shaped(self, scope: str, rows: pa.RecordBatch, change: str, identity: pa.Table) -> Shaped:
        """The wanted ones of rows of a table, which `identity` tells."""
        named = with_key(rows, scope, self._feed.view_key_column)
        if self._sink.deletes or self._sink.select is not None:
            named = with_change(named, change, deletes=self._sink.deletes)
        return self._shaper.shape(named, identity)

    def _ensure_keys(self, batch: ViewBatch) -> None:
        for change in batch.changes:
            missing = [name for name in self._key if name not in change.columns.names]
            if missing:
                thing = f"sink {self._sink.name!r} of feed {self._feed.feed!r}"
                fact = f"`key`: {change.table.name} has no column {missing[0]}"
                step = f"Its columns are {', '.join(change.columns.names)}"
                raise FeedError(thing, fact, step)

    def _begin(self, batch: ViewBatch) -> None:
        if not batch.is_noted:
            self._deliveries.note(begin_notes(batch.begun, batch.unknown))

    def _rows(self, batch: ViewBatch, scopes: Mapping[TableRef, str]) -> Iterator[WaitingRows]:
        number = batch.begun.number
        recorded = self._deliveries.recorded_by(number) if batch.was_begun else RowBag([])
        for change in batch.changes:
            changed = ChangedRows(
                change=change,
                begun=batch.begun,
                log=log_of(self._lake, change.table),
                feed=self._feed.feed,
                key=self._key,
                is_unique=bool(self._key) and not self._sink.key,
                deletes=self._sink.deletes,
                shape=partial(self._shaped, scopes[change.table]),
            )
            for shaped in changed.rows():
                is_done = recorded.has(hash_rows(shaped.rows, IDENTITY.names))
                yield WaitingRows.of(shaped, is_done)


def progress_of(batch: ViewBatch) -> Progress:
    """How far a sink is once a batch is done, or its share of one."""
    begun = batch.begun
    if begun.share + 1 < begun.shares:
        return Progress(batch=begun.number, points={}, notes=begin_notes(batch.next_share))
    return Progress(
        batch=begun.number,
        points={change.table.relative: change.until for change in batch.changes},
        notes=done_notes({change.table: change.table_id for change in batch.changes}, begun.key),
    )
