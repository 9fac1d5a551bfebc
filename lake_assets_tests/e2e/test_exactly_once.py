import signal
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage
from lake_assets.model.routes import Route
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings, StreamSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets_tests.e2e import doomed, finish
from lake_assets_tests.e2e.doomed import (
    AFTER_THE_COMMITS,
    AFTER_THE_JOB,
    BEFORE_THE_COMMITS,
    BEFORE_THE_LAST_COMMIT,
    BETWEEN_TWO_COMMITS,
    Job,
)
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.where_lakes_are import handle_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

GAMES = ("rummy", "spades", "euchre", "go_fish", "uno", "hearts", "poker")

DEATHS = (
    (Stage.INGEST, BEFORE_THE_COMMITS),
    (Stage.INGEST, AFTER_THE_COMMITS),
    (Stage.DEMUX, AFTER_THE_JOB),
    (Stage.DEMUX, BEFORE_THE_COMMITS),
    (Stage.DEMUX, BETWEEN_TWO_COMMITS),
    (Stage.DEMUX, BEFORE_THE_LAST_COMMIT),
    (Stage.DEMUX, AFTER_THE_COMMITS),
)
"""In the order in which one lake meets them: each process finishes what the last one left."""

FIRST_OF_DEMUX = (Stage.DEMUX, AFTER_THE_JOB)
"""Before it ingest comes to its end, so that each process of demux has batches left to die with."""

EVENTS = 3000

Placed = dict[str, list[tuple[str, int, int]]]
"""Topic, partition and offset of each row, by table."""


@dataclass(frozen=True)
class Lake:
    """A lake that was killed at every point, and then went on to the end."""

    settings: Settings
    feed: Feed
    produced: Placed
    deaths: dict[tuple[Stage, str], int]
    """Exit code of each process."""

    halfway: dict[tuple[Stage, str], Placed]
    """What the tables held after each."""


def values(topic: Topic) -> list[tuple[str, bytes | None]]:
    """Rows to produce, each with the table it belongs into; a dropped one belongs into none."""
    ids = [topic.register(version) for version in range(3)]
    quarantine = "quarantine_games"
    bad = [
        (quarantine, None),
        (quarantine, b"no framing"),
        (quarantine, b"\0\x7f\xff\xff\xff\0a"),
        (quarantine, framed(ids[0])[:20]),
        (quarantine, framed(ids[0], "chess")),
        (quarantine, framed(ids[0], "../x")),
        ("", framed(ids[0], gamer="")),
    ]
    good = [
        (
            silver_of(GAMES[i % 7]).name,
            framed(ids[i % 3], GAMES[i % 7], gamer=f"g{i}", version=i % 3),
        )
        for i in range(EVENTS)
    ]
    return [
        row for i, one in enumerate(good) for row in ([one, bad[i % 7]] if i % 50 == 0 else [one])
    ]


def placed(settings: Settings) -> Placed:
    """Where each row lies, read without Spark."""
    tables = [bronze_of("games"), quarantine_of("games"), *map(silver_of, GAMES)]
    found: Placed = {}
    with duckdb.connect() as db:
        for table in tables:
            handle = handle_of(settings, table)
            if handle is None:
                continue
            rows = db.from_arrow(handle.to_pyarrow_dataset())
            prefix = "_" if table.name.startswith("silver") else ""
            columns = ", ".join(f'"{prefix}{name}"' for name in ("topic", "partition", "offset"))
            picked = rows.project(columns).fetchall()
            found[table.name] = sorted(picked)
    return found


def run(module: Path, job: Job, *arguments: str) -> int:
    command = [sys.executable, "-m", f"lake_assets_tests.e2e.{module.stem}", *arguments]
    text = job.model_dump_json()
    done = subprocess.run(command, input=text, text=True, timeout=240, check=False)  # noqa: S603 - our own program
    return done.returncode


@pytest.fixture(scope="module")
def lake(services, tmp_path_factory, located) -> Lake:
    topic, other = Topic(services), Topic(services)
    rows = values(topic)
    produced: Placed = defaultdict(list)
    # Two topics, so that each partition and offset is there twice.
    for one, its_rows in ((topic, rows[::2]), (other, rows[1::2])):
        places = one.produce(*(value for _, value in its_rows))
        for (table, _), place in zip(its_rows, places, strict=True):
            produced[table].append((one.name, *place))
            produced["bronze_games"].append((one.name, *place))
    settings = located(
        Settings(
            home=tmp_path_factory.mktemp("home"),
            runtime=load_settings().runtime,
            spark=SparkSettings(driver_memory="600m"),
            # Each process gets a batch of its own to die with.
            stream=StreamSettings(max_rows_per_batch=EVENTS // 6, max_bytes_per_batch="1b"),
        )
    )
    source = Source(kafka=KafkaSource(topics=[topic.name, other.name]))
    feed = topic.feed(route=Route(column="game_name", keys=GAMES), source=source)
    job = Job(
        settings=settings,
        storage=settings.storage.secrets,
        feed=feed,
        kafka=services.kafka,
        registry=services.registry,
    )
    deaths, halfway = {}, {}
    for stage, point in DEATHS:
        if (stage, point) == FIRST_OF_DEMUX:
            assert run(Path(doomed.__file__), job, Stage.INGEST, "never") == 0
        deaths[stage, point] = run(Path(doomed.__file__), job, stage, point)
        halfway[stage, point] = placed(settings)
    assert run(Path(finish.__file__), job) == 0
    del produced[""]
    return Lake(settings, feed, {t: sorted(p) for t, p in produced.items()}, deaths, halfway)


@pytest.mark.parametrize("death", DEATHS, ids=" ".join)
def test_each_process_died_where_it_was_meant_to(lake, death):
    assert lake.deaths[death] == -signal.SIGKILL


@pytest.mark.parametrize("death", DEATHS, ids=" ".join)
def test_a_kill_leaves_no_event_twice(lake, death):
    assert all(len(set(places)) == len(places) for places in lake.halfway[death].values())


def test_after_all_kills_each_event_is_in_its_table_exactly_once(lake):
    assert placed(lake.settings) == lake.produced


def test_a_batch_killed_between_two_commits_was_half_there(lake):
    before = lake.halfway[Stage.DEMUX, BEFORE_THE_COMMITS]
    after = lake.halfway[Stage.DEMUX, BETWEEN_TWO_COMMITS]
    grown = [table for table in after if len(after[table]) > len(before.get(table, []))]
    assert grown


def test_events_of_all_versions_have_their_columns(lake):
    rows = handle_of(lake.settings, silver_of("uno")).to_pyarrow_table()
    with duckdb.connect() as db:
        found = db.from_arrow(rows).query(
            "silver", "select count(*), count(col_custom_1), count(col_custom_2) from silver"
        )
        total, first, second = found.fetchall()[0]
    expected = [i % 3 for i in range(EVENTS) if GAMES[i % 7] == "uno"]
    assert (total, first, second) == (
        len(expected),
        sum(version >= 1 for version in expected),
        sum(version >= 2 for version in expected),
    )


def test_quarantine_says_why(lake):
    rows = handle_of(lake.settings, quarantine_of("games")).to_pyarrow_table()
    assert set(rows["reason"].to_pylist()) == {
        "empty_value",
        "not_framed",
        "unknown_schema",
        "undecodable",
        "unknown_key",
        "bad_key_name",
    }
