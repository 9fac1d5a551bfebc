"""Rows of the table of requests, as another engine adds them."""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


class Asking:
    """Adds rows to the table, and tells which values are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, *rows: tuple[str | None, str | None, str | None]) -> None:
        columns = [dict(zip(("column", "value", "later"), row, strict=True)) for row in rows]
        write_deltalake(self.folder, pa.Table.from_pylist(columns), mode="append")

    def left(self) -> list[str]:
        values: list[str] = DeltaTable(self.folder).to_pyarrow_table()["value"].to_pylist()
        return values
