import psycopg
import pytest
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, ProgrammingError

from lake_assets.postgres.failures import Verdict, verdict_of, words_of


def _said(kind, state, text=""):
    origin = psycopg.errors.lookup(state)(text) if state else psycopg.OperationalError(text)
    return kind("statement with secrets", {}, origin)


@pytest.mark.parametrize(
    ("problem", "verdict"),
    [
        (_said(IntegrityError, "23505"), Verdict.REFUSED),
        (_said(DataError, "22003"), Verdict.REFUSED),
        (_said(ProgrammingError, "42P01"), Verdict.STOPS),
        (_said(ProgrammingError, "42501"), Verdict.STOPS),
        (_said(OperationalError, "40P01"), Verdict.AGAIN),
        (_said(OperationalError, "57P01"), Verdict.AGAIN),
        (_said(OperationalError, "53100"), Verdict.AGAIN),
        (_said(OperationalError, "25006"), Verdict.AGAIN),
        (_said(OperationalError, "", "connection refused"), Verdict.AGAIN),
        (_said(OperationalError, "", "FATAL:  the database system is starting up"), Verdict.AGAIN),
        (_said(OperationalError, "", "FATAL:  sorry, too many clients already"), Verdict.AGAIN),
        (_said(OperationalError, "", "FATAL:  password authentication failed"), Verdict.STOPS),
        (_said(OperationalError, "", 'FATAL:  database "x" does not exist'), Verdict.STOPS),
    ],
)
def test_an_error_says_whose_it_is(problem, verdict):
    assert verdict_of(problem) is verdict


def test_the_statement_is_not_told():
    words = words_of(_said(IntegrityError, "23505", "a\nkey"))
    assert words == "a key (SQLSTATE 23505)"
