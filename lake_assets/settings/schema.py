"""Every setting with its default, its unit and what it is for. Nothing in here reads anything."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from humanfriendly import InvalidSize, parse_size
from pydantic import Field, SecretStr, field_validator, model_validator

from lake_assets.model.endpoints import RegistryAccess
from lake_assets.settings.access import (
    access_complaint,
    brokers_complaint,
    kafka_complaint,
    without_login,
)
from lake_assets.settings.alerts import AlertSettings
from lake_assets.settings.catalog import CatalogSettings
from lake_assets.settings.erasure import ErasureSettings
from lake_assets.settings.group import Group, RelatedGroup, refuse
from lake_assets.settings.masking import MaskingSettings
from lake_assets.settings.places import Places
from lake_assets.settings.spark import SparkSettings
from lake_assets.settings.upkeep import (
    BackupSettings,
    DagsterSettings,
    ForecastSettings,
    LogSettings,
    MaintenanceSettings,
)
from lake_assets.settings.watch import MetricsSettings


class KafkaSettings(Group):
    """Where events come from."""

    bootstrap_servers: str | None = None
    """`host:port[,host:port]` of your own brokers; unset, the embedded broker is used."""

    options: dict[str, SecretStr] = Field(default_factory=dict)
    """Further librdkafka client properties (`security.protocol`, `sasl.mechanism`, …), as JSON. All
    are masked wherever settings are printed: any may hold a secret."""

    commit_offsets: bool = True
    """Whether a feed's offsets are committed to the consumer group `lake_assets-<feed>`, so that
    Kafka's own lag tools see it. Nothing is read back; without the right only a warning comes."""

    @field_validator("bootstrap_servers")
    @classmethod
    def _are_brokers(cls, value: str | None) -> str | None:
        refuse(brokers_complaint(value) if value else None)
        return value

    @field_validator("options")
    @classmethod
    def _options_suit_both_clients(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        refuse(kafka_complaint({name: secret.get_secret_value() for name, secret in value.items()}))
        return value


class RegistrySettings(RelatedGroup):
    """Where schemas come from."""

    @staticmethod
    def complaint(field: str, value: Any, before: Mapping[str, Any]) -> str | None:  # noqa: ANN401
        """As the base has it."""
        return access_complaint(field, value, before)

    url: str | None = None
    """Address of your own Confluent-compatible registry; unset, the embedded one is used."""

    user: str | None = None
    """Name to log in with (an API key at Confluent's); a login in the address is moved here."""

    password: SecretStr | None = None
    """Password of `user`."""

    token: SecretStr | None = None
    """Bearer token, in place of user and password."""

    ca: Path | None = None
    """PEM file of the authorities to trust, in place of the public ones."""

    certificate: Path | None = None
    """PEM file of the client's own certificate, if the registry asks for one."""

    key: Path | None = None
    """PEM file of its key; unset, it is in the file of the certificate."""

    key_password: SecretStr | None = None
    """What the key is encrypted with; unset, it is not."""

    @property
    def access(self) -> RegistryAccess:
        """All of it but the address."""
        return RegistryAccess(**{name: value for name, value in self if name != "url"})

    @model_validator(mode="before")
    @classmethod
    def _take_login_out_of_url(cls, given: Any) -> Any:  # noqa: ANN401 - whatever was given
        return without_login(given) if isinstance(given, dict) else given


class StreamSettings(Group):
    """The two long-running queries: ingest (source to bronze) and demux (bronze to silver)."""

    trigger_s: float = Field(default=1.0, ge=0, le=3_600)
    """Seconds between micro-batches of ingest, for feeds without a `trigger` of their own; demux
    follows as soon as rows are in bronze. Lower costs more commits, higher more latency."""

    max_rows_per_batch: int = Field(default=2_000_000, gt=0)
    """Rows ingest takes from Kafka in a micro-batch. Bounds memory and the work a kill repeats."""

    max_bytes_per_batch: str = "512m"
    """Bytes of bronze files after which a micro-batch of demux takes no further commit of bronze
    (`64m`, `1g`); a commit is never split, so ingest's own bounds hold for one that is larger."""

    @field_validator("max_bytes_per_batch")
    @classmethod
    def _is_a_size(cls, value: str) -> str:
        try:
            size = parse_size(value, binary=True)
        except InvalidSize as problem:
            raise ValueError("is no size\nwrite 64m or 1g") from problem
        refuse(None if size >= 1 else "must be a byte or more")
        return value

    @property
    def max_bytes(self) -> int:
        """`max_bytes_per_batch` in bytes."""
        return int(parse_size(self.max_bytes_per_batch, binary=True))

    heartbeat_every_s: float = Field(default=2.0, gt=0)
    """Seconds between two heartbeats of the process that runs the streams."""

    stall_after_s: float = Field(default=180.0, gt=0)
    """Seconds without progress after which the supervisor restarts the streams. Must exceed the
    longest micro-batch, or a large backlog is never worked off."""

    view_timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    """Seconds that the refresh of a gold view may take in the streams' Spark. One that takes longer
    is left to its schedule and to `lake-assets refresh`, which start a Spark of their own."""

    report_every_s: float = Field(default=30.0, gt=0)
    """Seconds between two reports to Dagster at least; each changed key costs 8-17 ms of its
    storage."""

    report_events_per_day: int = Field(default=60_000, ge=1)
    """Events that these reports come to, about. With more keys they come more rarely, ten minutes
    apart at most; what changes a check's verdict does not wait."""

    rotate_run_after_h: float = Field(default=24.0, gt=0)
    """Hours after its first batch when the streams' run in Dagster ends between two batches and the
    supervisor starts the next one, so that what Dagster stores of it can be deleted by age. Streams
    stand still for half a minute then."""


class Durability(StrEnum):
    """What rows that count as done outlive."""

    POWER = "power"  # a power cut or a crash of the system: they are on the disk
    PROCESS = "process"  # a kill of the process: the system has them


class FanoutSettings(Group):
    """How one job writes many tables."""

    durability: Durability = Durability.POWER
    """`power`: data files are on the disk before a log entry names them, and a batch's log entries
    before it counts as done. `process` leaves that to the system: what was committed in the last
    half minute before a power cut may be lost or torn, and is made again as far as Kafka has it."""

    commit_threads: int | None = Field(default=None, gt=0)
    """Tables committed at once; unset, 2 on a disk and 64 in a bucket. A local disk hardly makes a
    commit wait, so that more threads gain nothing there; raise it where the lake's disk answers
    slowly (NFS)."""

    buffer_bytes: int = Field(default=512 * 1024 * 1024, gt=0)
    """Bytes that a writing task takes at most for the rows that wait to be written, however skewed
    they are; half of it is for the copy that is sorted. When it is full, a file a table is written.
    Lower makes more and smaller files. There is a task a core; each worker process takes some
    250 MB beside."""

    bucket_rows: int = Field(default=16_384, gt=0)
    """Rows of a gold table that a bucket should hold, which a refresh writes again if one of them
    changes. A table has at most
    256 buckets."""


class StorageSettings(Group):
    """The bucket that the lake is in, if it is in one."""

    options: dict[str, SecretStr] = Field(default_factory=dict)
    """`aws_endpoint_url`, `aws_access_key_id`, `aws_region`, `aws_allow_http`, …, as JSON and as
    deltalake takes them; what is not there is looked for in the environment and at the machine's
    own service. All are masked wherever settings are printed: any may hold a secret."""

    @property
    def secrets(self) -> dict[str, str]:
        """The options as they are."""
        return {name: secret.get_secret_value() for name, secret in self.options.items()}


class RuntimeSettings(Group):
    """Where the jars of Spark and of the embedded services come from and where they are kept."""

    cache: Path | None = None
    """Folder for downloaded jars, shared by all lakes; unset, the user's cache folder."""

    ivy_settings: Path | None = None
    """Your own Ivy settings file (a mirror, a proxy, credentials); unset, Maven Central."""


class Settings(Places):
    """All settings; `settings.load` builds them from the environment."""

    kafka: KafkaSettings = KafkaSettings()
    registry: RegistrySettings = RegistrySettings()
    spark: SparkSettings = SparkSettings()
    stream: StreamSettings = StreamSettings()
    fanout: FanoutSettings = FanoutSettings()
    alerts: AlertSettings = AlertSettings()
    forecast: ForecastSettings = ForecastSettings()
    log: LogSettings = LogSettings()
    maintenance: MaintenanceSettings = MaintenanceSettings()
    masking: MaskingSettings = MaskingSettings()
    erasure: ErasureSettings = ErasureSettings()
    storage: StorageSettings = StorageSettings()
    metrics: MetricsSettings = MetricsSettings()
    backup: BackupSettings = BackupSettings()
    catalog: CatalogSettings = CatalogSettings()
    dagster: DagsterSettings = DagsterSettings()
    runtime: RuntimeSettings = RuntimeSettings()
