"""Problems and alerts for tests of any module of the room."""

from lake_assets.model.alerts import Alert, AlertSeverity, Moment, Problem, ProblemKind


def problem(
    subject: str = "silver_events/known/uno",
    kind: ProblemKind = ProblemKind.CHECK_FAILED,
    *,
    severity: AlertSeverity = AlertSeverity.WARNING,
    since: float = 5.0,
    details: str = "rows seen: 8, rows violated: 2",
) -> Problem:
    """A failing check, unless said otherwise."""
    return Problem(kind=kind, subject=subject, severity=severity, since=since, details=details)


def alert(subject: str = "silver_events/known/uno", moment: Moment = Moment.BEGUN) -> Alert:
    """Tells of a failing check."""
    return Alert(moment=moment, problem=problem(subject), at=65.0)
