"""What a run of maintenance did to a table."""

from dataclasses import dataclass, field

from lake_assets.model.tables import TableRef


@dataclass(kw_only=True, slots=True)
class TableUpkeep:
    """What was done to a table, or would be."""

    table: TableRef
    joined: int = 0
    """Small files that became fewer."""

    old_rows: int = 0
    """Rows that left for their age."""

    into: int = 0
    """Files that they became."""

    joined_bytes: int = 0
    deleted: int = 0
    """Files that no version needs any more."""

    deleted_bytes: int = 0
    log_files: int = 0
    """Files of its log that were deleted."""

    notes: list[str] = field(default_factory=list)
    """In words, what was left and why."""

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.is_busy or self.notes)

    @property
    def is_busy(self) -> bool:
        """Whether something was done."""
        return bool(self.joined or self.deleted or self.log_files or self.old_rows)
