"""Dead letters of rows that were erased while their call was under way: they quote nothing.

Who erases notes where rows were, waits until records that are being made are there, and only then
looks which letters quote such rows. So each record goes by what is noted when it is made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from lake_assets.delta.origins import Origins
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import TableRef, feed_of_deliveries
from lake_assets.sinks.base import Outcome
from lake_assets.state.erasing_fence import letters_of, while_planned
from lake_assets.state.erasure_ledger import ErasureLedger

ERASED = "erased"
"""Why a row is a dead letter whose reason quoted it."""

ORIGIN = OriginColumns(name="source", partition="partition", offset="offset")
"""Columns of deliveries that say where a row came from."""


@contextmanager
def without_erased(
    ledger: ErasureLedger | None, table: TableRef, outcomes: Sequence[Outcome]
) -> Iterator[Sequence[Outcome]]:
    """Outcomes as a sink's table may have them; to be committed while the block runs.

    Args:
        ledger: of the lake, if it has one.
        table: of the sink's deliveries.
        outcomes: of calls.

    Raises:
        LakeError: the places of erased rows cannot be read.
    """
    if ledger is None or all(one.is_delivered for one in outcomes):
        yield outcomes
        return
    feed = feed_of_deliveries(table)
    with while_planned(ledger.state_dir, letters_of(feed)):
        erased = Origins(ORIGIN)
        erased.add_spans(ledger.spans(feed))
        yield [_judged(one, erased) for one in outcomes] if len(erased) else outcomes


def _judged(one: Outcome, erased: Origins) -> Outcome:
    if one.is_delivered or not erased.mask(one.call.rows).any():
        return one
    return replace(one, reason=ERASED, request="", response="")
