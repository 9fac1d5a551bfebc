"""What a feed declares of any PostgreSQL that it writes to or reads from."""

import re
from datetime import timedelta
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, Field

from lake_assets.model.checks import Duration

_SCHEMES = frozenset({"postgresql", "postgresql+psycopg"})

_TABLE = re.compile(r"(?:[^\W\d][\w$]{0,62}\.)?[^\W\d][\w$]{0,62}")

_EXAMPLE = "write postgresql+psycopg://host/database"


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is none
    except ValueError as problem:
        message = f"is no address ({problem})\n{_EXAMPLE}"
        raise ValueError(message) from problem
    if parts.scheme not in _SCHEMES:
        message = f"is no address of PostgreSQL\n{_EXAMPLE}"
    elif "@" in parts.netloc or {"user", "password"} & parse_qs(parts.query).keys():
        message = "has a user or a password\nmove them into `user` and `password`"
    elif parts.path.strip("/") == "":
        message = f"names no database\n{_EXAMPLE}"
    else:
        return url
    raise ValueError(message)


def _table(value: str) -> str:
    if _TABLE.fullmatch(value) is None:
        message = f"{value!r} is no table\nwrite schema and table, as `public.sessions`"
        raise ValueError(message)
    return value


DatabaseAddress = Annotated[str, AfterValidator(_address)]

QualifiedTable = Annotated[str, AfterValidator(_table)]

DatabaseColumn = Annotated[str, Field(min_length=1, max_length=63)]

DatabaseTimeout = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(minutes=10))]


def schema_and_name(table: str) -> tuple[str | None, str]:
    """A table's schema, None where it is the one that the database looks in, and its name."""
    schema, _, name = table.rpartition(".")
    return schema or None, name
