"""What `lake_status` tells of a lake, as frozen nouns."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lake_assets.model.checks import Severity
from lake_assets.streams.stream_standing import StreamState


class StreamsState(StrEnum):
    """How the process that runs the streams is."""

    RUNNING = "running"
    WAITING = "waiting"  # for a broker or a registry; they go on by themselves
    STALLED = "stalled"  # alive, and no batch ends
    SILENT = "silent"  # the lock is held, and no heartbeat comes
    ELSEWHERE = "elsewhere"  # on another machine or in another container
    STOPPED = "stopped"  # all of them, deliberately
    NOT_RUNNING = "not running"


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamsStatus:
    """The process that runs the streams."""

    state: StreamsState
    is_wanted: bool
    """Whether a feed is to be run without pause."""

    host: str | None = None
    pid: int | None = None
    owner: str | None = None
    """Who started it: `cli`, a run of Dagster's."""

    since: datetime | None = None
    detail: str = ""
    """In words, what it waits for, or for how long nothing was heard."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedStatus:
    """One feed."""

    feed: str
    state: StreamState
    """What its stream does."""

    detail: str
    """In words: who stopped it, what it waits for, at what it is blocked."""

    lag_rows: int | None
    """Rows of its source that bronze has not; None if nobody knows."""

    lag_s: float | None
    """Seconds that the oldest of these has waited, at most: since the last commit of bronze."""

    behind_rows: int
    """Rows of bronze that demux has not taken."""

    behind_s: float
    """Seconds since the first of them came."""

    last_batch_at: datetime | None
    """Of ingest."""

    rows: int
    """In bronze."""

    quarantined_rows: int
    quarantine_share: float
    """Of bronze's rows."""

    waiting_rows: int
    """Put aside until a schema is known."""

    lag_unknown: str = ""
    """In words, why nobody knows the lag; "" where no source can be asked."""

    next_run: str | None = None
    """In words, of a feed with a schedule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewStatus:
    """One gold view."""

    feed: str
    view: str
    tables: int
    refreshed_at: datetime | None
    """The newest commit of any of its tables."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckStatus:
    """A check or an expectation that fails now."""

    feed: str
    key: str
    name: str
    severity: Severity
    since: datetime
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkStatus:
    """One sink that began, or that rows wait for."""

    sink: str
    behind_s: float
    """Seconds since the oldest commit came that it has not delivered; 0 if there is none."""

    dead_letters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LakeStatus:
    """A lake."""

    lake: str
    streams: StreamsStatus
    feeds: list[FeedStatus] = field(default_factory=list)
    views: list[ViewStatus] = field(default_factory=list)
    failing: list[CheckStatus] = field(default_factory=list)
    sinks: list[SinkStatus] = field(default_factory=list)
    disk_free_bytes: int = 0
    disk_size_bytes: int = 0
