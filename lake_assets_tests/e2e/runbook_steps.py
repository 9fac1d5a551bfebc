"""What tests of runbooks do where a page's reader would wait for something, or look at a table."""

import json
import os

from deltalake import DeltaTable

from lake_assets_tests.e2e.runbook import Reader


def send(reader: Reader, *events: str) -> None:
    """Send events to the page's topic, each as `game:player:coins`."""
    made = [
        dict(zip(("game", "player", "coins"), event.split(":"), strict=True)) for event in events
    ]
    values = [{**one, "coins": int(one["coins"]), "at": "2026-11-20T10:00:00Z"} for one in made]
    reader.topic.produce(*(json.dumps(value).encode() for value in values))


def rows(reader: Reader, table: str, count: str) -> None:
    """A table has so many rows; `none` is that there is no such table."""
    folder = reader.now().lake_dir / table
    there = DeltaTable.is_deltatable(os.fspath(folder))
    found = DeltaTable(folder).to_pyarrow_table().num_rows if there else "none"
    assert str(found) == count, f"{table} has {found} rows"


def refused(reader: Reader) -> None:
    """The next command fails, as the page says."""
    reader.is_refused = True


def show(reader: Reader) -> None:
    """For who writes a page: what the last block said."""
    print(reader.said)  # noqa: T201 - for that alone


STEPS = {"send": send, "rows": rows, "refused": refused, "show": show}
