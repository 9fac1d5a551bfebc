"""What sinks have kept of rows that are erased: texts of dead letters, and keys of views' rows.

That a row was sent stays recorded, by where it came from: it would be sent again otherwise. Of a
view's row that record is its key, so it goes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.commit import ERASED, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.origins import Origins
from lake_assets.delta.rewrite_files import Rewrite, rewrite_files
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import patterns_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import Layer, TableRef, deliveries_of
from lake_assets.sinks.erased_letters import ERASED as ERASED_LETTER
from lake_assets.sinks.erased_letters import ORIGIN
from lake_assets.storage.store import Store

_TEXTS = ("request", "response", "reason", "key")
"""Columns that may quote what was sent."""


def deliveries_in(lake: Store, feed: str) -> list[TableRef]:
    """The tables of a feed's sinks, also of such as it has no longer."""
    prefix = deliveries_of(feed, "").name
    folder = lake.root / Layer.LOG.value
    names = (name for name in lake.folders(folder) if name.startswith(prefix))
    tables = (TableRef(layer=Layer.LOG, name=name) for name in names)
    return [table for table in tables if log_of(lake, table).exists()]


def erase_letters(
    committer: Committer, table: TableRef, spans: Spans, matching: Matching, erasure: str
) -> int:
    """Take what a sink's table quotes of erased rows out of it.

    Args:
        committer: commits.
        table: of the sink.
        spans: where the feed's rows came from.
        matching: the values, as far as they are known.
        erasure: its id, which the commit names.

    Returns:
        How many entries changed or left.

    Raises:
        CommitConflictError: others rewrite the table all the time.
        LakeError: it cannot be read or written.
    """
    changed = 0

    def plan(rewrite: Rewrite) -> None:
        nonlocal changed
        changed, rewrite.info = 0, {ERASED: erasure}
        for file, entries, found in _touched(committer, rewrite.log, table, spans, matching):
            rewrite.removed.append(file)
            changed += int((found.quotes | found.is_its).sum())
            left = _without_texts(entries, found)
            if left.num_rows:
                rewrite.write(left)

    step = "Ask for the erasure again, and it goes on"
    rewrite_files(committer, table, plan, next_step=step)
    return changed


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """Entries of a file that have something of erased rows."""

    quotes: npt.NDArray[np.bool_]
    """Whose texts quote one."""

    is_its: npt.NDArray[np.bool_]
    """That are an erased row's of a view, known by its key."""


def _touched(
    committer: Committer, log: TableLog, table: TableRef, spans: Spans, matching: Matching
) -> Iterator[tuple[DataFile, pa.Table, _Found]]:
    """Files with entries that quote an erased row, or are of one, and which they are."""
    origins = Origins(ORIGIN)
    origins.add_spans(spans)
    patterns = patterns_of(matching.plain)
    for file in active_files(committer.fresh(table)):
        entries = read_file(log, file)
        texts = [name for name in _TEXTS if name in entries.column_names]
        has_text = np.any([_are(pc.is_valid(entries[name])) for name in texts], axis=0)
        quotes = has_text & origins.mask(entries)
        for name in texts:
            quotes |= _match(entries[name], patterns)
        # What was blanked before has nothing more to lose.
        quotes &= ~_are(pc.equal(entries["reason"], ERASED_LETTER))
        is_view = _are(pc.starts_with(entries["table"], f"{Layer.GOLD.value}/"))
        found = _Found(quotes=quotes, is_its=is_view & _match(entries["source"], patterns))
        if (found.quotes | found.is_its).any():
            yield file, entries, found


def _match(texts: pa.ChunkedArray, patterns: Sequence[str]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(texts), dtype=np.bool_)
    for pattern in patterns:
        found |= _are(pc.match_substring_regex(texts, pattern))
    return found


def _without_texts(entries: pa.Table, found: _Found) -> pa.Table:
    """Entries that quote nothing of erased rows, without those of views' rows."""
    mask = pa.array(found.quotes)
    for name in ("request", "response", "reason"):
        at = entries.schema.get_field_index(name)
        field = entries.schema.field(at)
        instead = pa.scalar(ERASED_LETTER if name == "reason" else None, field.type)
        entries = entries.set_column(at, field, pc.if_else(mask, instead, entries[name]))
    return entries.filter(pa.array(~found.is_its))


def _are(found: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(found, pa.scalar(value=False)))
