"""What a user is alerted to: problems, and the alerts that tell when they begin and end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class ProblemKind(StrEnum):
    """What can be wrong, and for how long that may last."""

    CHECK_FAILED = "check_failed"  # rows of a key violate an expectation
    STREAMS_FAILED = "streams_failed"  # they died, or nothing runs that should
    STREAMS_STALLED = "streams_stalled"  # they live and get nowhere
    STREAMS_WAITING = "streams_waiting"  # for a broker or a registry; they go on by themselves
    REFRESH_MISSED = "refresh_missed"  # a schedule's tick passed, and gold is as it was before
    RUN_MISSED = "run_missed"  # a feed's schedule ticked, and rows of then are not taken
    FEED_STOPPED = "feed_stopped"  # the same batch failed again and again; others go on
    RETENTION_NEAR = "retention_near"  # a source will delete rows before they are read
    DISK_FILLS = "disk_fills"  # the lake's disk will be full
    REFRESH_SLOW = "refresh_slow"  # a view's refreshes nearly take the time between two of them
    BACKUP_OLD = "backup_old"  # the last good backup is older than it may be
    SINK_BEHIND = "sink_behind"  # rows of silver have waited too long for a sink
    DEAD_LETTERS = "dead_letters"  # an API refused rows; told for a day, or until they are sent
    FILES_CHANGED = "files_changed"  # files grew or were rewritten once they were found; for a day
    ROWS_LOST = "rows_lost"  # a source had rows no more when it was their turn; told for a day


STREAMS = "streams"
"""Subject of the problems that all streams of a lake have together."""

STREAM_KINDS = frozenset(
    {ProblemKind.STREAMS_FAILED, ProblemKind.STREAMS_STALLED, ProblemKind.STREAMS_WAITING}
)


BACKUP = "backup"
"""Subject of what concerns the backups of the lake."""

LAKE_KINDS = frozenset(
    {
        ProblemKind.FEED_STOPPED,
        ProblemKind.ROWS_LOST,
        ProblemKind.FILES_CHANGED,
        ProblemKind.BACKUP_OLD,
        ProblemKind.SINK_BEHIND,
        ProblemKind.DEAD_LETTERS,
    }
)
"""Kinds that the lake's own tables and state folder tell of."""

RUN_KINDS = frozenset({ProblemKind.RUN_MISSED})
"""Kinds that tell of feeds with a schedule."""

FORECAST_KINDS = frozenset(
    {ProblemKind.RETENTION_NEAR, ProblemKind.DISK_FILLS, ProblemKind.REFRESH_SLOW}
)
"""Kinds that tell of what is to come."""


class AlertSeverity(StrEnum):
    """How much a problem asks for somebody."""

    WARNING = "warning"
    ERROR = "error"


ProblemKey: TypeAlias = tuple[ProblemKind, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something that is wrong; one of the same kind and subject is the same problem."""

    kind: ProblemKind
    subject: str
    """Whose problem: `<asset>/<check>/<key>`, `streams`, a view's asset or `feed.view`,
    `feed.sink`, a feed,
    `disk` or `backup`."""

    severity: AlertSeverity
    since: float
    """When it began, as far as that is known; seconds since 1970."""

    details: str
    """Numbers, names and the next step, as they were when it was first seen."""

    @property
    def key(self) -> ProblemKey:
        """What tells it from others."""
        return self.kind, self.subject


class Moment(StrEnum):
    """Why an alert is sent."""

    BEGUN = "begun"
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """Tells that a problem began or ended."""

    moment: Moment
    problem: Problem
    at: float
    """When that was noticed; seconds since 1970."""

    @property
    def id(self) -> str:
        """The same however often the alert is delivered."""
        return f"{self.problem.kind}/{self.problem.subject}/{self.at:.3f}/{self.moment}"
