"""What the table of a sink's deliveries has of a row that was sent or given up: an entry."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from lake_assets.sinks.base import IDENTITY, Outcome

SCHEMA = pa.schema(
    [
        *IDENTITY,
        ("batch", pa.int64()),
        ("call", pa.int64()),  # within the batch
        ("delivered", pa.bool_()),  # false of a dead letter
        ("time", pa.timestamp("us", tz="UTC")),  # of the commit
        ("tries", pa.int32()),
        ("seconds", pa.float64()),  # of the call's last try
        ("status", pa.int32()),  # of its answer
        ("key", pa.string()),  # `Idempotency-Key`; of dead letters, as is the reason
        ("reason", pa.string()),
        ("request", pa.string()),  # of the first row of a call that was given up, as the next
        ("response", pa.string()),
    ]
)
"""Columns of the table."""


def entries_of(outcomes: Sequence[Outcome], batches: Sequence[int], now: datetime) -> pa.Table:
    """The entries of the rows of calls, in their order.

    Args:
        outcomes: of the calls, one at least.
        batches: for each, the one that it was first made in.
        now: when that is committed.
    """
    counts = [one.call.rows.num_rows for one in outcomes]
    whose = np.repeat(np.arange(len(outcomes)), counts)
    # Once a call: of thousands of rows each would have all of what the call had.
    is_first = np.diff(whose, prepend=-1) > 0
    once = pa.array(whose, mask=~is_first)
    rows = pa.concat_tables([one.call.rows for one in outcomes])
    told: dict[str, list[Any]] = {
        "batch": list(batches),
        "call": [one.call.number for one in outcomes],
        "delivered": [one.is_delivered for one in outcomes],
        "time": [now] * len(outcomes),
        "tries": [one.tries for one in outcomes],
        "seconds": [one.seconds for one in outcomes],
        "status": [one.status for one in outcomes],
        "key": [None if one.is_delivered else one.call.key for one in outcomes],
        "reason": [one.reason or None for one in outcomes],
        "request": [one.request or None for one in outcomes],
        "response": [one.response or None for one in outcomes],
    }

    def column(field: pa.Field) -> pa.Array | pa.ChunkedArray:
        if field.name in IDENTITY.names:
            return rows[field.name]
        shown = once if field.name in {"request", "response"} else pa.array(whose)
        return pa.array(told[field.name], field.type).take(shown)

    return pa.Table.from_arrays([column(field) for field in SCHEMA], schema=SCHEMA)
