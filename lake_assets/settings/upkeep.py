"""Settings of what keeps a lake in shape: its log tables, and the maintenance of all others."""

from pydantic import Field

from lake_assets.settings.group import Group


class LogSettings(Group):
    """The Delta tables `quality_log` and `stream_log`, which the process of the streams keeps."""

    append_every_s: float = Field(default=30.0, gt=0)
    """Seconds that entries wait for each other; each append is a commit and a file in a table."""

    keep_days: int = Field(default=30, ge=1)
    """Days after which an entry is deleted; up to a day later, since deleting rewrites files."""

    compact_above_files: int = Field(default=100, ge=2)
    """Files of a log that are joined into one. Lower costs rewrites, higher costs each query."""


class MaintenanceSettings(Group):
    """Upkeep of the tables: small files joined, unused files deleted, logs kept short."""

    schedule: str = "*/15 * * * *"
    """When Dagster maintains each feed's tables (cron, UTC)."""

    keep_hours: float = Field(default=1.0, gt=0)
    """Hours for which a version of a table stays readable after the next has come: for time travel,
    and for whoever reads it meanwhile. A table's own `delta.deletedFileRetentionDuration` and
    `delta.logRetentionDuration` go first."""

    target_file_mb: int = Field(default=128, ge=1)
    """Megabytes that small files are joined to; what has half of it is never rewritten."""

    join_at_files: int = Field(default=16, ge=2)
    """Files of about one size that are worth a rewrite. Lower costs rewrites, higher costs each
    reader."""

    run_gb: float = Field(default=8.0, gt=0)
    """Gigabytes of small files that a run rewrites of a table at most; the next takes the rest."""

    run_minutes: float = Field(default=10.0, gt=0)
    """Minutes after which a run begins no further rewrite."""

    keep_deleted_days: float = Field(default=7.0, ge=0.1)
    """Days for which files of bronze, silver and quarantine stay whose rows somebody deleted or
    rewrote (DELETE, UPDATE, a rebuild), and files that no commit names, such as a killed job's.
    More than any job takes."""
