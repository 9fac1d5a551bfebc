import json
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from lake_assets.cli.tables import overview_table
from lake_assets.storage.uri import LakeUri
from lake_assets.streams.overview import TableOverview
from lake_assets_tests.commandline import sparkless_here
from lake_assets_tests.sample import silver_of


def test_an_empty_lake_says_what_to_do(settings):
    shown = sparkless_here(settings, "tables").stdout
    assert "run `lake-assets stream`" in " ".join(shown.split())


def test_an_empty_lake_is_an_empty_list_as_json(settings):
    assert json.loads(sparkless_here(settings, "tables", "--json").stdout) == []


def test_a_table_is_shown_with_its_size_and_lag():
    one = TableOverview(
        table=silver_of("uno"),
        path=LakeUri.local(Path("/lake/silver/silver_uno_events")),
        key="uno",
        rows=1234,
        files=2,
        size_bytes=4000,
        committed_at=datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC),
        lag_rows=7,
    )
    console = Console(width=100)
    with console.capture() as shown:
        console.print(overview_table([one]))
    row = next(line for line in shown.get().splitlines() if "silver_uno_events" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "silver_uno_events",
        "1,234",
        "2",
        "4.0 kB",
        "7",
        "11-21 01:02:03",
    ]
