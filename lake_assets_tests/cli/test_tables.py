from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from lake_assets.cli.tables import overview_table
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import bronze_of
from lake_assets.streams.overview import TableOverview
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake
from lake_assets_tests.commandline import result_of, sparkless_here
from lake_assets_tests.sample import silver_of


def test_an_empty_lake_says_what_to_do(settings):
    shown = sparkless_here(settings, "tables").stdout
    assert "run `lake-assets stream`" in " ".join(shown.split())


def test_an_empty_lake_is_an_empty_list_as_json(settings):
    assert result_of(sparkless_here(settings, "tables", "--json")) == []


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


def test_partitions_are_shown_where_a_table_has_some():
    one = TableOverview(
        table=silver_of("uno"),
        path=LakeUri.local(Path("/lake/silver/silver_uno_events")),
        key="uno",
        rows=1,
        files=2,
        size_bytes=4000,
        committed_at=datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC),
        lag_rows=7,
    )
    console = Console(width=120)
    with console.capture() as shown:
        split = replace(one, partition_by=("day", "region"), partitions=1200)
        console.print(overview_table([one, split]))
    rows = [line for line in shown.get().splitlines() if "silver_uno_events" in line]
    assert [row.strip("│").split("│")[-1].strip() for row in rows] == ["", "1,200 by day, region"]


def test_numbers_stay_whole_where_it_is_narrow():
    one = TableOverview(
        table=silver_of("a_game_whose_name_takes_most_of_the_line"),
        path=LakeUri.local(Path("/lake/silver")),
        key="uno",
        rows=1_234_567,
        files=2,
        size_bytes=123_400_000,
        committed_at=datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC),
        lag_rows=7,
    )
    bronze = replace(one, table=bronze_of("games"), partition_by=("ingested_date",))
    console = Console(width=80)
    with console.capture() as shown:
        console.print(overview_table([bronze, one]))
    rows = [line for line in shown.get().splitlines() if "1,234,567" in line]
    assert len(rows) == 2
    assert all("123.4 MB" in row and "11-21 01:02:03" in row for row in rows)
    assert "…" not in shown.get()


def test_what_tables_held_then_is_shown(settings):
    lake = BatchedLake(settings)
    lake.demux(UNO, FISH)
    lake.demux(UNO)
    lake.committer.close()
    told = result_of(sparkless_here(settings, "tables", "--at", "1", "--json"))
    silver = [one for one in told if one["layer"] == "silver"]
    assert [(one["version"], one["newest"], one["rows"]) for one in silver] == [
        (1, 1, 1),
        (1, 2, 1),
    ]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    shown = sparkless_here(settings, "tables", "--at", now, "--feed", "games").stdout
    assert "versions stay readable for 1 h" in shown
    refused = sparkless_here(settings, "tables", "--at", "yesterday")
    assert (refused.returncode, "Write it like 2026-11-24T12:00" in refused.stderr) == (2, True)
