"""Raw rows that demux left out by an erasure: they are in bronze until somebody takes them out."""

from collections.abc import Iterator, Sequence

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
    """By erasure, the rows that were left out since anybody looked last; they are noted as erased.

    Raises:
        LakeError: a table or the ledger cannot be read or written.
    """
    erasures = ledger.read()
    for erasure in erasures.every:
        removals = []
        for feed in feeds:
            left_out = _left_out(context, feed, erasure.id)
            before = ledger.spans_of(feed.feed, erasure.id)
            known = len(_origins(feed, before))
            every = _origins(feed, before)
            every.add_spans(left_out.spans)
            spans = every.spans
            if len(_origins(feed, spans)) == known:
                continue
            ledger.record(feed.feed, erasure.id, spans)
            removals.append(
                Removal(
                    context=context,
                    feed=feed,
                    erasure=erasure.id,
                    spans=spans,
                    matching=matching_of(erasure, erasures.key, None),
                )
            )
        if removals:
            yield erasure, removals


def _origins(feed: Feed, spans: Spans) -> Origins:
    origins = Origins(origin_of(feed))
    origins.add_spans(spans)
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
