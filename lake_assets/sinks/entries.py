"""What the table of a sink's deliveries has of a row that was sent or given up: an entry."""

from datetime import datetime

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


def entries_of(outcome: Outcome, batch: int, now: datetime) -> pa.Table:
    """The entries of a call's rows.

    Args:
        outcome: of the call.
        batch: that it was first made in.
        now: when that is committed.
    """
    call, count = outcome.call, outcome.call.rows.num_rows
    told = {
        "batch": batch,
        "call": call.number,
        "delivered": outcome.is_delivered,
        "time": now,
        "tries": outcome.tries,
        "seconds": outcome.seconds,
        "status": outcome.status,
        "key": None if outcome.is_delivered else call.key,
        "reason": outcome.reason or None,
    }
    # Once a call: of thousands of rows each would have all of what the call had.
    once = {"request": outcome.request or None, "response": outcome.response or None}

    def column(field: pa.Field) -> pa.Array | pa.ChunkedArray:
        if field.name in IDENTITY.names:
            return call.rows[field.name]
        if field.name in once:
            return pa.array([once[field.name], *[None] * (count - 1)], field.type)
        return pa.repeat(pa.scalar(told[field.name], field.type), count)

    return pa.Table.from_arrays([column(field) for field in SCHEMA], schema=SCHEMA)
