"""What connects to a database: its address with who we are, time limits, and UTC."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from lake_assets.errors import SettingsError
from lake_assets.model.rest import Secret
from lake_assets.settings.secrets import Secrets


def engine_for(
    address: str,
    login: tuple[str | Secret | None, Secret | None],
    secrets: Secrets,
    *,
    within_s: float,
    connections: int = 1,
    as_json: Callable[[Any], str] | None = None,
) -> sa.Engine:
    """What connects to a database; nothing is connected yet.

    Args:
        address: of the database, without a login.
        login: user and password, or where they are to be had.
        secrets: looks them up.
        within_s: for connecting, and for each statement.
        connections: at most.
        as_json: writes values of JSON columns.

    Raises:
        SettingsError: a secret is not there, or the address is none.
    """
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except SQLAlchemyError as problem:
        fact = f"is no address ({problem})"
        raise SettingsError(f"url {address}", fact, "Correct it") from problem
    user, password = login
    url = url.set(
        username=secrets.value(user) if isinstance(user, Secret) else user,
        password=secrets.value(password) if password else None,
    )
    milliseconds = int(within_s * 1000)
    engine = sa.create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,  # they are rows; what is wrong with one is in its dead letter
        json_serializer=as_json,
        connect_args={
            "connect_timeout": max(2, round(within_s)),  # libpq takes no less
            "tcp_user_timeout": milliseconds,
            "client_encoding": "utf8",
            "application_name": "lake-assets",
        },
    )

    def prepare(connection: Any, _: object) -> None:  # noqa: ANN401 - psycopg's
        # Texts of values are compared, and read by psycopg: a server's or role's own style is not.
        connection.execute("set time zone 'UTC'")
        connection.execute("set datestyle = 'ISO'")
        connection.execute("set extra_float_digits = 1")
        connection.execute(f"set statement_timeout = {milliseconds}")
        connection.commit()

    sa.event.listen(engine, "connect", prepare)
    return engine
