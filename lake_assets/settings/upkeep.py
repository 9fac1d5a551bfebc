"""Settings of upkeep: logs, maintenance, backups, Dagster's runs, and alerts to what is to come."""

from enum import StrEnum
from typing import Any

from pydantic import Field, SecretStr, field_validator

from lake_assets.settings.checks import (
    owners_complaint,
    prefix_complaint,
    target_complaint,
    words_in,
)
from lake_assets.settings.group import Cron, Group, refuse


class LogFormat(StrEnum):
    """What a line of the log looks like."""

    TEXT = "text"  # words, for people
    JSON = "json"  # an object, for programs


class LogSettings(Group):
    """Lines on standard error, and the tables `quality_log` and `stream_log`, of the streams."""

    format: LogFormat = LogFormat.TEXT
    """`text` or `json`: a line is words, or an object with `message`, `level`, `timestamp` and what
    it is about: `feed`, `stage`, `batch`, `view`, `table`."""

    append_every_s: float = Field(default=30.0, gt=0)
    """Seconds that entries wait for each other; each append is a commit and a file in a table."""

    keep_days: int = Field(default=30, ge=1)
    """Days after which an entry is deleted; up to a day later, since deleting rewrites files."""

    compact_above_files: int = Field(default=100, ge=2)
    """Files of a log that are joined into one. Lower costs rewrites, higher costs each query."""


class MaintenanceSettings(Group):
    """Upkeep of the tables: small files joined, unused files deleted, logs kept short."""

    schedule: Cron = "*/15 * * * *"
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


class BackupSettings(Group):
    """Backups of the lake, which Dagster makes if it is told where to put them."""

    target: str | None = None
    """Where Dagster puts backups: the whole path of a folder, or `s3://…`, `gs://…`, `az://…`; of
    this lake alone. Unset, it makes none. `lake-assets backup` without a place puts them there,
    too."""

    schedule: Cron = "37 2 * * *"
    """When (cron, UTC)."""

    keep: int = Field(default=7, ge=1)
    """Backups that stay there; older ones go, with the files that only they had."""

    alert_after_hours: float = Field(default=26.0, gt=0)
    """Hours after which an alert tells that the last good backup is too old: more than the
    schedule's time from one to the next and what a backup takes."""

    options: dict[str, SecretStr] = Field(default_factory=dict)
    """Of the bucket that backups go to (`aws_access_key_id`, `aws_endpoint`, …), as JSON and as
    deltalake takes them; unset, the machine's own service is asked. All are masked wherever
    settings are printed: any may hold a secret."""

    @field_validator("target")
    @classmethod
    def _target_is_whole(cls, value: str | None) -> str | None:
        refuse(target_complaint(value) if value is not None else None)
        return value

    @property
    def secrets(self) -> dict[str, str]:
        """The options as they are."""
        return {name: secret.get_secret_value() for name, secret in self.options.items()}


class DagsterSettings(Group):
    """What Dagster keeps of this lake's runs."""

    keep_runs_days: float = Field(default=3.0, ge=1)
    """Days after which finished runs are deleted, with their events. The newest event of each table
    and result of each check stay, with their run. With 100 games that are busy all day, and views
    of theirs that are refreshed every five minutes, a day takes 1 GB of SQLite and a quarter of
    that in PostgreSQL."""

    purge_schedule: Cron = "23 3 * * *"
    """When they are deleted (cron, UTC)."""

    observe_every_s: float = Field(default=60.0, ge=10)
    """Seconds between two looks at each source: its offsets and its lag become an observation of
    its asset where they changed, and every ten minutes where they did not. A topic whose offsets
    move all day takes 1,440 events a day of some 1 KB."""

    fresh_within_s: float = Field(default=3600.0, ge=0)
    """Seconds after which Dagster shows bronze and silver of a feed that the streams run as stale
    (red; yellow after half of it), unless all that its source has is there; 0: never. A feed's own
    `freshness` counts before it."""

    lake_resource: str = Field(default="lake", pattern="^[A-Za-z_][A-Za-z0-9_]*$")
    """Key of the resource by which steps reach this lake. Two lakes in one code location, or a
    lake beside another resource `lake`, need keys of their own."""

    key_prefix: list[str] = Field(default_factory=list)
    """What the keys of all assets begin with, and names of jobs, schedules, sensors and ops, so
    that several lakes fit in one code location; in the environment with commas (`prod,eu`).
    Dagster takes assets for others once it changes."""

    owners: list[str] = Field(default_factory=lambda: ["team:lake"])
    """Who is named as owner of each asset: `team:…` or e-mail addresses; in the environment with
    commas. Empty, nobody is."""

    @field_validator("key_prefix", "owners", mode="before")
    @classmethod
    def _is_split_at_commas(cls, value: Any) -> Any:  # noqa: ANN401 - whatever was given
        return words_in(value) if isinstance(value, str) else value

    @field_validator("key_prefix")
    @classmethod
    def _parts_are_names(cls, value: list[str]) -> list[str]:
        refuse(prefix_complaint(value))
        return value

    @field_validator("owners")
    @classmethod
    def _owners_are_known_to_dagster(cls, value: list[str]) -> list[str]:
        refuse(owners_complaint(value))
        return value


class ForecastSettings(Group):
    """Alerts to what will go wrong if all goes on as it does."""

    retention_hours: float = Field(default=6.0, gt=0)
    """Hours ahead that are looked whether Kafka deletes rows before they are read; of a topic that
    keeps rows for less than twice as long, half of what it keeps."""

    disk_hours: float = Field(default=24.0, gt=0)
    """Hours ahead that are looked whether the lake's disk is full."""

    refresh_share: float = Field(default=0.8, gt=0, le=1)
    """Share of the time between two refreshes of a view that one may take."""
