"""What a batch and a refresh did, in numbers; made by the core, shown by Dagster and the CLI."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self, TypeAlias

from lake_assets.model.checks import Severity
from lake_assets.model.origins import ByPlace, Origin
from lake_assets.model.tables import TableRef


class Stage(StrEnum):
    """What a feed's rows go through on their way to silver."""

    INGEST = "ingest"  # the source to bronze
    DEMUX = "demux"  # bronze to silver and quarantine
    CATCH_UP = "catch-up"  # rows that waited for the registry, to where demux would have put them


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """How one key's rows of one batch fared with one expectation."""

    seen: int
    violated: int
    examples: tuple[Origin, ...] = ()
    """A few of the rows that violate it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """What part of its source a micro-batch took: from the first on, up to the last without it."""

    query: str
    """Id of the streaming query, which its checkpoint keeps; batches are counted within it."""

    offsets_from: ByPlace = field(default_factory=dict)
    """By name and partition of what is read, of an ingest batch."""

    offsets_to: ByPlace = field(default_factory=dict)
    version_from: int | None = None
    """Version of bronze, of a demux batch."""

    version_to: int | None = None
    """The first version that is not taken whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchReport:
    """One micro-batch of one stage: committed, or refused by an expectation."""

    feed: str
    stage: Stage
    batch_id: int
    rows: Mapping[str, int]
    """Rows written by table name."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows that an expectation dropped, by key."""

    duplicates: Mapping[str, int] = field(default_factory=dict)
    """Rows that were left out since their event was there, by key; the table of duplicates, among
    `rows`, has as many."""

    keys_held: int | None = None
    """Keys of silver in memory after the batch, by which duplicates are told; None of a feed that
    does not deduplicate."""

    keys_held_bytes: int = 0

    judged: Mapping[tuple[str, str], Judged] = field(default_factory=dict)
    """By key and expectation."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """By phase: `job`, `commit`."""

    files: int = 0
    """Data files written, of all tables."""

    span: Span | None = None
    """None where nobody has looked into the checkpoint."""

    is_committed: bool = True
    """False if an expectation failed: nothing was written, and the stream ends."""

    lag_rows: int | None = None
    """Rows of its source that were not taken when it was told; None if that is not known."""

    lag_s: float | None = None
    """Seconds since the first of these rows came, of the partition that is furthest behind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A stream waits for something that may come back, and goes on by itself."""

    feed: str
    stage: Stage
    reason: str
    """In words, next step included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """How one key's table fared with one dataset check."""

    key: str
    table: TableRef
    name: str
    severity: Severity
    """How bad a failure is; of no meaning where it passed."""

    passed: bool
    found: float | None
    """Rows, seconds or a sum, by what is checked; None if there was nothing to find."""

    limit: str
    words: str
    """What was found, in a sentence."""

    version: int | None
    """The table's version that was looked at; None if there is no table."""


class Mode(StrEnum):
    """From which rows of silver a view was brought up to date."""

    INCREMENTAL = "incremental"  # those that silver gained, merged with the view's own
    FULL = "full"  # all


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewRefresh:
    """One key's refresh of one gold view, or that of all keys together."""

    key: str
    """`EVERY_KEY` if the view is over all keys."""

    view: str
    rows: int
    """Rows of the view after the refresh."""

    silver_version: int | None
    """Version of the key's silver table that the view now stands for; None of one over all keys,
    whose commit names a version a key."""

    files: int = 0
    """Data files that the view now has."""

    mode: Mode = Mode.FULL
    why: str = ""
    """In words, why it was this way."""

    rows_read: int = 0
    """Rows of silver."""

    rows_written: int = 0
    """Of the view, those in new files."""

    late_rows: int = 0
    """Of silver, of a view of windows: new ones whose window was closed before."""

    late_rows_in_all: int = 0
    """Likewise, since the view was last computed in full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RefreshReport:
    """One refresh run: the views it wrote and the ones it found up to date."""

    refreshed: tuple[ViewRefresh, ...]
    up_to_date: tuple[tuple[str, str], ...]
    """Key and view of each that silver has nothing new for."""

    judged: Mapping[tuple[str, str], Judged] = field(default_factory=dict)
    """By key and expectation of the view, how its new rows fared."""

    blocked: Mapping[str, str] = field(default_factory=dict)
    """By key, what held up its refresh: a blocking expectation or check fails."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """By phase: `session`, `plan`, `job`, `commit`."""

    view: str = ""
    """Which view, of a report of one; also where nothing was refreshed."""

    def with_seconds(self, phase: str, seconds: float) -> Self:
        """The same report with one more phase."""
        return replace(self, seconds={phase: seconds, **self.seconds})


@dataclass(frozen=True, kw_only=True, slots=True)
class Refreshed:
    """What a refresh and its checks came to."""

    reports: Sequence[RefreshReport]
    """One a view."""

    silver_checks: Sequence[CheckResult] = ()
    """Blocking checks of the keys that were about to be refreshed."""

    gold_checks: Mapping[str, Sequence[CheckResult]] = field(default_factory=dict)
    """By view, of the keys that were."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldRefreshed:
    """Some keys of a view were refreshed, or are held up."""

    feed: str
    refreshed: Refreshed


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewFailed:
    """A view could not be refreshed."""

    feed: str
    view: str
    reason: str
    """In words, and what comes next."""


GoldEvent: TypeAlias = GoldRefreshed | ViewFailed


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryReport:
    """What was delivered to a sink, in one run of it."""

    feed: str
    sink: str
    rows: int
    """Delivered."""

    calls: int
    """Made, whatever became of them."""

    retries: int
    """Further tries of them."""

    dead_rows: int
    """Rows that became dead letters."""

    failed_tries: int
    """Tries of calls that did not deliver, those of calls that were delivered later among them."""

    batches: int
    """That were taken to their end."""

    seconds: float
    latency_s: Mapping[str, float] = field(default_factory=dict)
    """`p50`, `p99` and `max` of the last tries of calls that were delivered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RedeliveryReport:
    """What became of a sink's dead letters that were sent again."""

    done: DeliveryReport
    """Of the calls; its dead letters are those that were refused again."""

    missing_rows: int
    """That the tables have no more, or the sink does not want by now: they stay dead letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkFailed:
    """A sink stands still."""

    feed: str
    sink: str
    reason: str
    """In words, and what comes next."""


SinkEvent: TypeAlias = DeliveryReport | SinkFailed
"""What can be told of a sink."""
