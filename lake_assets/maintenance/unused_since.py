"""Since when files of a feed's tables are known to be unused, kept from run to run.

By the clock, and by one that nobody sets and that begins anew with each start of the machine: a
clock that was set ahead makes no file old.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import BaseModel, ValidationError

from lake_assets.maintenance.activity import note_of
from lake_assets.model.tables import TableRef
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.processes import boot_id

WATCHED_S = 3600.0
"""Seconds of this machine's own time for which a file must be known to be unused before it counts
as long unused: should the clock have been set ahead, a running batch is done by then."""


class Since(NamedTuple):
    """When a file was first met."""

    wall: float
    """`time.time`."""

    monotonic: float
    """`time.monotonic`, of this start of the machine."""


class _Noted(BaseModel):
    boot: str
    tables: dict[str, dict[str, Since]]
    """By table and file."""


@dataclass(kw_only=True)
class UnusedSince:
    """What is known of the unused files of a feed's tables."""

    path: Path
    boot: str
    tables: dict[str, dict[str, Since]] = field(default_factory=dict)

    @classmethod
    def of(cls, state_dir: Path, feed: str) -> Self:
        """What was noted of a feed; nothing, where it cannot be read."""
        path, boot = note_of(state_dir, feed), boot_id()
        try:
            noted = _Noted.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return cls(path=path, boot=boot)
        tables = noted.tables
        if noted.boot != boot:
            now = time.monotonic()
            tables = {
                table: {name: Since(since.wall, now) for name, since in files.items()}
                for table, files in tables.items()
            }
        return cls(path=path, boot=boot, tables=tables)

    def meet(self, table: TableRef, files: Collection[str]) -> dict[str, Since]:
        """Note which files of a table are unused now; by file, since when."""
        known, now = self.tables.get(table.relative, {}), Since(time.time(), time.monotonic())
        met = {name: known.get(name, now) for name in files}
        # One that was met by a clock that was ahead has been unused since now, at least.
        self.tables[table.relative] = {
            name: Since(min(since.wall, now.wall), since.monotonic) for name, since in met.items()
        }
        return self.tables[table.relative]

    def save(self) -> None:
        """Keep what was noted.

        Raises:
            OSError: the state folder cannot be written.
        """
        tables = {name: files for name, files in self.tables.items() if files}
        self.path.parent.mkdir(exist_ok=True)
        replace_text(self.path, _Noted(boot=self.boot, tables=tables).model_dump_json())
