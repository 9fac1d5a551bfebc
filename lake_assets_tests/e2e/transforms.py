"""What a feed of the model-based test names as its `transform`."""

import pyarrow as pa

NOBODY = "nobody"


def greet(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Adds `greeting`; raises for a gamer that is nobody."""
    return rows.append_column("greeting", pa.array(map(_greeting, _gamers(rows)), pa.string()))


def _gamers(rows: pa.RecordBatch) -> list[str | None]:
    gamers: list[str | None] = rows["gamer_id"].to_pylist()
    return gamers


def _greeting(gamer: str | None) -> str | None:
    if gamer == NOBODY:
        message = "greets nobody"
        raise ValueError(message)
    return None if gamer is None else f"hello {gamer}"
