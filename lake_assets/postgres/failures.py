"""What a database's error means: these rows are refused, try again, or nothing can be written.

PostgreSQL says it by SQLSTATE; only who may not connect is told by words, which libpq gives alone.
"""

import re
from enum import StrEnum

import sqlalchemy.exc
from sqlalchemy.exc import SQLAlchemyError


class Verdict(StrEnum):
    """What is done about a statement that failed."""

    AGAIN = "again"  # later, the same
    REFUSED = "refused"  # by what is in the rows: others may pass
    STOPS = "stops"  # whichever rows it has


class NullKeyError(SQLAlchemyError):
    """A row has no value where the key needs one: no unique index would tell it from others."""


class UnfitValueError(SQLAlchemyError):
    """A value cannot even be sent to a column of its type."""


_BY_CLASS = {
    "08": Verdict.AGAIN,  # connection
    "40": Verdict.AGAIN,  # rolled back: a deadlock, a serialization
    "53": Verdict.AGAIN,  # resources: connections, memory, disk
    "55": Verdict.AGAIN,  # locks
    "57": Verdict.AGAIN,  # shut down, or cancelled for its time
    "58": Verdict.AGAIN,  # its system
    "21": Verdict.REFUSED,  # two rows of a call for one row of the table
    "22": Verdict.REFUSED,  # a value
    "23": Verdict.REFUSED,  # a constraint
    "44": Verdict.REFUSED,  # a view's condition
    "54": Verdict.REFUSED,  # too large for an index or a page
    "P0": Verdict.REFUSED,  # a trigger
}
"""By the first two characters of a SQLSTATE; others are of the declaration, or of the server."""

_READ_ONLY = "25006"
"""Of a server that is a copy of another for now, as in a failover."""

_PASSING = re.compile(
    r"starting up|shutting down|recovery|too many (?:clients|connections)|remaining connection"
    r"|terminating connection|timeout|timed out",
    re.IGNORECASE,
)

_FINAL = re.compile(
    r"FATAL:|password|authentication|pg_hba|does not exist|not permitted|certificate|"
    r"invalid (?:connection option|URI|port|sslmode|[a-z_]+ value)|SSL was required|"
    r"does not support SSL",
    re.IGNORECASE,
)


def verdict_of(problem: SQLAlchemyError) -> Verdict:
    """What an error of SQLAlchemy's means."""
    if isinstance(problem, (NullKeyError, UnfitValueError)):
        return Verdict.REFUSED
    origin = getattr(problem, "orig", None)
    state = getattr(origin, "sqlstate", None)
    if state == _READ_ONLY:
        return Verdict.AGAIN
    if isinstance(state, str):
        return _BY_CLASS.get(state[:2], Verdict.STOPS)
    connecting = (sqlalchemy.exc.OperationalError, sqlalchemy.exc.InterfaceError)
    if isinstance(problem, connecting):
        text = str(origin)
        is_final = _FINAL.search(text) and not _PASSING.search(text)
        return Verdict.STOPS if is_final else Verdict.AGAIN
    if isinstance(problem, sqlalchemy.exc.TimeoutError):
        return Verdict.AGAIN
    # Of a value that the client could not even send.
    return Verdict.REFUSED if isinstance(problem, sqlalchemy.exc.StatementError) else Verdict.STOPS


def words_of(problem: SQLAlchemyError) -> str:
    """What the database said, on one line, without the statement."""
    origin = getattr(problem, "orig", None) or problem
    state = getattr(origin, "sqlstate", None)
    text = " ".join(str(origin).split())
    return f"{text} (SQLSTATE {state})" if state else text
