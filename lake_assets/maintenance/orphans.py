"""Since when it is known of files that no commit names them, by a clock that nobody sets.

Kept in the lake's state folder from run to run. After the machine started again all of them are
looked at anew.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ValidationError

from lake_assets.model.tables import TableRef
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.processes import boot_id


class _Noted(BaseModel):
    boot: str
    tables: dict[str, dict[str, float]]
    """By table and file, `time.monotonic` when it was first met."""


@dataclass(kw_only=True)
class Orphans:
    """What is known of the files of a feed's tables that no commit names."""

    path: Path
    boot: str
    tables: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, state_dir: Path, feed: str) -> Self:
        """What was noted of a feed; nothing, where it cannot be read or is of another boot."""
        path, boot = state_dir / "orphans" / f"{feed}.json", boot_id()
        try:
            noted = _Noted.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return cls(path=path, boot=boot)
        return cls(path=path, boot=boot, tables=noted.tables if noted.boot == boot else {})

    def known(self, table: TableRef) -> Mapping[str, float]:
        """By file of a table, when it was first met, as `time.monotonic`."""
        return self.tables.get(table.relative, {})

    def note(self, table: TableRef, since: Mapping[str, float]) -> None:
        """Note all that there are of a table now."""
        self.tables[table.relative] = dict(since)

    def save(self) -> None:
        """Keep what was noted.

        Raises:
            OSError: the state folder cannot be written.
        """
        tables = {name: files for name, files in self.tables.items() if files}
        self.path.parent.mkdir(exist_ok=True)
        replace_text(self.path, _Noted(boot=self.boot, tables=tables).model_dump_json())

    @staticmethod
    def now() -> float:
        """The time that `known` is measured in."""
        return time.monotonic()
