"""Alerts in words, as each kind of sink wants them. Pure."""

from datetime import UTC, datetime
from typing import TypeAlias

from lake_assets.model.alerts import STREAMS, Alert, Moment, ProblemKind

_TITLES = {
    ProblemKind.CHECK_FAILED: "Check fails",
    ProblemKind.STREAMS_FAILED: "Streams are down",
    ProblemKind.STREAMS_STALLED: "Streams stand still",
    ProblemKind.STREAMS_WAITING: "Streams wait",
    ProblemKind.REFRESH_MISSED: "Refresh missed",
    ProblemKind.RUN_MISSED: "Run of a feed missed",
    ProblemKind.FEED_STOPPED: "Feed stopped",
    ProblemKind.SINK_BEHIND: "Sink is behind",
    ProblemKind.DEAD_LETTERS: "Dead letters",
    ProblemKind.ROWS_LOST: "Rows lost",
    ProblemKind.FILES_CHANGED: "Files changed",
    ProblemKind.BACKUP_OLD: "No recent backup",
    ProblemKind.RETENTION_NEAR: "Rows will be lost",
    ProblemKind.DISK_FILLS: "Disk will be full",
    ProblemKind.REFRESH_SLOW: "Refresh nearly too slow",
}

Json: TypeAlias = dict[str, str]


def title_of(alert: Alert) -> str:
    """One line without details: what, whose, and whether it is over."""
    problem = alert.problem
    title = _TITLES[problem.kind]
    if problem.subject != STREAMS:
        title = f"{title}: {problem.subject}"
    if alert.moment is Moment.ENDED:
        title = f"Over after {_span(alert.at - problem.since)}: {title}"
    return _one_line(title)


def text_of(alert: Alert) -> str:
    """The title, and the details of one that begins."""
    is_new = alert.moment is Moment.BEGUN and alert.problem.details
    return f"{title_of(alert)}. {_one_line(alert.problem.details)}" if is_new else title_of(alert)


def payload_of(alert: Alert, lake: str) -> Json:
    """What a webhook gets. `text` is for Slack and its like, the rest for programs."""
    problem = alert.problem
    return {
        "text": _escaped(f"[{problem.severity}] {text_of(alert)}"),
        "id": alert.id,
        "event": alert.moment.value,
        "kind": problem.kind.value,
        "subject": problem.subject,
        "severity": problem.severity.value,
        "since": _time(problem.since),
        "at": _time(alert.at),
        "details": problem.details,
        "lake": lake,
    }


def body_of(alert: Alert, lake: str) -> str:
    """The body of an e-mail."""
    facts = payload_of(alert, lake)
    names = ("event", "kind", "subject", "severity", "since", "at", "lake", "id")
    lines = "\n".join(f"{name}: {facts[name]}" for name in names)
    return f"{text_of(alert)}\n\n{lines}\n"


def _escaped(text: str) -> str:
    """As Slack asks: everything else it shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _span(seconds: float) -> str:
    """Two units at most: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if minutes < 1:
        return f"{max(0.0, seconds):.0f} s"
    if hours < 1:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"  # noqa: PLR2004 - hours of a day
