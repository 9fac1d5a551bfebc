"""Whether a database can be reached, and its table is as the sink needs it. Writes nothing."""

from collections.abc import Callable

from pydantic import SecretStr
from sqlalchemy.exc import SQLAlchemyError

from lake_assets.errors import SinkError
from lake_assets.model.sql_sink import SqlSink
from lake_assets.postgres.failures import words_of
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.sql.database import SinkTable, engine_of


def ensure_reachable(
    sink: SqlSink, look_up: Callable[[str], SecretStr], *, within_s: float
) -> None:
    """Connect to the database, from this process, and look at the table.

    Args:
        sink: as it is declared.
        look_up: knows secrets by their variables.
        within_s: for connecting, and for each question.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it cannot be reached, or the table is not as it needs to be.
    """
    secrets = Secrets(look_up)
    engine = engine_of(sink, secrets, within_s=within_s)
    try:
        SinkTable(sink, engine).ensure_fits()
    except SQLAlchemyError as problem:
        fact = f"cannot be used ({secrets.masked(words_of(problem))})"
        step = "Check the address, user and password, and the way to it"
        raise SinkError(sink.url, fact, step) from problem
    finally:
        engine.dispose()
