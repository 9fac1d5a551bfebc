"""How far a backup or a restore is, for whoever shows it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Progress:
    """How far a backup or a restore is."""

    tables: int = 0
    of_tables: int = 0
    copied_bytes: int = 0
    kept_files: int = 0
    """Files that were there already."""

    copied_files: int = 0
    told: Callable[["Progress"], None] | None = None
    _lock: Lock = field(default_factory=Lock)

    def add(self, *, size: int = 0, copied: int = 0, kept: int = 0, tables: int = 0) -> None:
        """Count, and tell of it."""
        with self._lock:
            self.copied_bytes += size
            self.copied_files += copied
            self.kept_files += kept
            self.tables += tables
            if self.told is not None:
                self.told(self)
