"""What a real restore of the server looks like; other tables and databases: `test_tables`."""

import subprocess

import pytest

from lake_assets.errors import SourceError
from lake_assets_tests.databases import running_postgres
from lake_assets_tests.sources.postgres.landings import PURCHASES, land, landed, source_of


@pytest.mark.slow
def test_an_older_state_of_the_database_is_refused(lake):
    add = "insert into purchases (player) values (%s)"
    with running_postgres() as databases:
        database = databases()
        source = source_of(database)
        database.ask(PURCHASES)
        database.ask(add, "ann")
        land(source, lake)
        data, backup = database.folder / "data", database.folder / "backup"
        database.server.stop()
        _copy(data, backup)
        database.server.start()
        database.ask(add, "bob")
        land(source, lake)
        database.server.stop()
        data.rename(database.folder / "lost")
        _copy(backup, data)
        database.server.start()
        with pytest.raises(SourceError, match=r"is behind what was read.*older backup"):
            land(source, lake)
    assert [row["player"] for row in landed(lake)] == ["ann", "bob"]


def _copy(source, target):
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)  # noqa: S603, S607 - our own
