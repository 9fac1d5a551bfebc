"""A PostgreSQL for tests of SQL sinks, and a sink that writes to it."""

import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from benchmarks.postgres import Postgres
from lake_assets.model.sinks import Sink


class Database:
    """One database of a server that runs."""

    def __init__(self, server, folder, name):
        self.server, self.folder = server, folder
        server.create(name)
        self.url = f"postgresql+psycopg:///{name}?host={quote(str(folder), safe='')}"
        self._connect = f"host={folder} dbname={name} user=postgres"

    def ask(self, sql, *values):
        """Rows that a statement gives, if it gives any."""
        with psycopg.connect(self._connect, autocommit=True) as connection:
            found = connection.execute(sql, values or None)
            return found.fetchall() if found.description else []

    def begin(self):
        """A connection in a transaction of its own."""
        return psycopg.connect(self._connect)

    def require_password(self, user):
        """Let a user in by a password only."""
        rules = f"local all {user} scram-sha-256\nlocal all all trust\n"
        (self.folder / "data" / "pg_hba.conf").write_text(rules)
        self.ask("select pg_reload_conf()")


@contextmanager
def running_postgres():
    """A server, and what makes databases of it."""
    # A short path: that of a socket has 107 characters.
    with tempfile.TemporaryDirectory(prefix="pg") as place:
        Path(place).chmod(0o755)
        folder = Path(place) / "s"
        names = iter(range(1000))
        with Postgres(folder) as server:
            yield lambda: Database(server, folder, f"db{next(names)}")


def sql_sink(database, **declared):
    """A sink as a feed declares it."""
    shape = {name: declared.pop(name) for name in ("select", "where") if name in declared}
    sql = {"url": database.url, "user": "postgres", "table": "public.sessions", **declared}
    return Sink.model_validate({"name": "db", "from": "silver", "sql": sql, **shape})
