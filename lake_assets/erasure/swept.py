"""Raw rows that demux left out by an erasure: they are in bronze until somebody takes them out."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.origins import Origins
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.note import matching_of
from lake_assets.erasure.remove import Removal
from lake_assets.model.erasures import Erasure
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import erased_of
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.erasure_ledger import ErasureLedger

_ERASURE = "erasure"
"""Column of the table: id of the erasure by which a row was left out."""


def swept_rows(
    context: LakeContext, ledger: ErasureLedger, feeds: Sequence[Feed]
) -> Iterator[tuple[Erasure, list[Removal]]]:
    """By erasure, the rows that were left out since anybody looked last, and only these.

    They are noted as erased once whoever asked has taken them out and comes back: where a process
    dies before, the next one is told of them again. Places of rows that left before are not looked
    at again: a feed that was reset may have other rows there.

    Raises:
        LakeError: a table or the ledger cannot be read or written.
    """
    erasures = ledger.read()
    for erasure in erasures.every:
        removals, every_span = [], {}
        for feed in feeds:
            left_out = _left_out(context, feed, erasure.id)
            before = ledger.spans_of(feed.feed, erasure.id)
            new = _without(feed, left_out.spans, before)
            if not len(new):
                continue
            new_spans = new.spans
            new.add_spans(before)
            every_span[feed.feed] = new.spans
            removals.append(
                Removal(
                    context=context,
                    feed=feed,
                    erasure=erasure.id,
                    spans=new_spans,
                    matching=matching_of(erasure, erasures.key, None),
                )
            )
        if removals:
            yield erasure, removals
        for name, spans in every_span.items():
            ledger.record(name, erasure.id, spans)


def _without(feed: Feed, spans: Spans, known: Spans) -> Origins:
    """The rows of some spans that are in no known one."""
    origins = Origins(origin_of(feed))
    for place, its in spans.items():
        offsets = np.concatenate([np.arange(first, end, dtype=np.int64) for first, end in its])
        for first, end in known.get(place, ()):
            offsets = offsets[(offsets < first) | (offsets >= end)]
        origins.add_spans({place: [(int(one), int(one) + 1) for one in offsets]})
    return origins


def _left_out(context: LakeContext, feed: Feed, erasure: str) -> Origins:
    """Where the rows were that demux left out by an erasure."""
    found, table = Origins(origin_of(feed)), erased_of(feed.feed)
    log = log_of(context.lake, table)
    if not log.exists():
        return found
    for file in active_files(context.committer.fresh(table)):
        rows = read_file(log, file, [*feed.source.origin.identity, _ERASURE])
        found.add(rows.filter(pc.equal(rows[_ERASURE], erasure)))
    return found
