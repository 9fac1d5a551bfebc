"""Functions for feeds' `transform` whose cost is measured: each adds two columns of the event's."""

import pyarrow as pa
import pyarrow.compute as pc


def of_columns(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Whole columns at once, in Arrow."""
    owner = pc.binary_join_element_wise(rows["gamer_id"], rows["device_id"], "/")
    rows = rows.append_column("owner", owner)
    return rows.append_column("length", pc.utf8_length(rows["gamer_id"]))


def by_row(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same, a row at a time."""
    gamers, devices = rows["gamer_id"].to_pylist(), rows["device_id"].to_pylist()
    owners = [f"{gamer}/{device}" for gamer, device in zip(gamers, devices, strict=True)]
    lengths = [None if gamer is None else len(gamer) for gamer in gamers]
    rows = rows.append_column("owner", pa.array(owners, pa.string()))
    return rows.append_column("length", pa.array(lengths, pa.int32()))
