"""A person erased by commands from a lake of feeds of many shapes: nothing of others goes."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pydantic import SecretStr

from lake_assets.settings.load import load_settings
from lake_assets.settings.masking import MaskingSettings
from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings
from lake_assets_tests.commandline import lake_assets_here, result_of
from lake_assets_tests.conftest import SPARK
from lake_assets_tests.e2e.erased_shapes import (
    ANN,
    CYD,
    MASKING_KEY,
    NUMBER,
    send,
    shapes,
)
from lake_assets_tests.erasure.bytes_of_everything import files_of, has
from lake_assets_tests.events import Topic
from lake_assets_tests.sinks.rest.api import running_api

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka]

TIMES = {"ingested_at", "quarantined_at", "dropped_at"}
"""Columns that say when a batch ran."""

NAMES = tuple(shapes(""))

DERIVED_AGAIN = ("numbers", "resent", "baskets", "renamed")
"""Feeds whose rows are derived again after the erasure: of all it takes as long as all else."""

Rows = dict[str, list[dict[str, object]]]
"""By table."""


@dataclass
class World:
    settings: Settings
    topics: dict[str, Topic]
    api: str

    def run(self, *arguments, status=0):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == status, f"{arguments}: {done.stdout} {done.stderr}"
        return done.stdout

    def send(self, when):
        for name, shape in shapes(self.api).items():
            send(self.topics[name], getattr(shape, when))

    def take(self):
        self.run("stream", "--until-caught-up")
        self.run("refresh")

    def rows(self) -> Rows:
        """Of all tables but the logs, as far as they do not tell when a batch ran."""
        lake = self.settings.lake_dir
        tables = (path.parent for path in sorted(lake.rglob("_delta_log")))
        return {
            table.name: [
                {name: value for name, value in row.items() if name not in TIMES}
                for row in DeltaTable(table).to_pyarrow_table().to_pylist()
            ]
            for table in tables
            if table.parent.name != "log"
        }

    def erase(self, *values, later="drop"):
        """What the command tells, and where it found a value that is no temporary file of Spark's,
        which this process keeps."""
        given = [word for value in values for word in ("--value", value)]
        arguments = ("erase", "--yes", "--json", "--later", later, "--column", "gamer_id", *given)
        done = lake_assets_here(self.settings, *arguments)
        told = result_of(done)
        lasting = [one for one in told["proof"]["found"] if one["kind"] != "temporary files"]
        return {**told, "found": lasting}

    def holders(self, *values):
        """Files that have a value, by whoever shares no code with the product."""
        return [name for name, content in files_of(self.settings.home) if has(content, *values)]


@dataclass
class Story:
    """What the lake had at each step."""

    before: Rows = field(default_factory=dict)
    told: dict = field(default_factory=dict)
    erased: Rows = field(default_factory=dict)
    held: list[str] = field(default_factory=list)
    anew: Rows = field(default_factory=dict)
    later: Rows = field(default_factory=dict)
    swept: Rows = field(default_factory=dict)
    held_at_last: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def story(services, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("shapes")
    (folder / "feeds").mkdir()
    settings = Settings(
        home=folder / "home",
        feeds=folder / "feeds",
        runtime=load_settings().runtime,
        spark=SPARK,
        kafka=KafkaSettings(bootstrap_servers=services.kafka),
        registry=RegistrySettings(url=services.registry),
        masking=MaskingSettings(key=SecretStr(MASKING_KEY)),
    )
    topics = {name: Topic(services) for name in NAMES}
    for topic in topics.values():
        topic.create()
    with running_api(folder) as api:
        api.script(always={"status": 422})  # all that sinks send becomes dead letters
        for name, shape in shapes(api.url).items():
            (folder / "feeds" / f"{name}.yaml").write_text(shape.text(name, topics[name]))
        return _told(World(settings, topics, api.url))


def _told(world):
    found = Story()
    world.send("before")
    world.take()
    found.before = world.rows()
    world.erase(CYD, later="keep")
    found.told = world.erase(ANN, str(NUMBER))
    found.erased, found.held = world.rows(), world.holders(ANN, NUMBER, CYD)
    for name in DERIVED_AGAIN:
        world.run("rebuild", "silver", "--yes", "--feed", name)
        world.run("requeue", "--feed", name)
    world.run("rebuild", "gold", "--yes")
    found.anew = world.rows()
    world.send("after")
    world.take()
    found.later = world.rows()
    world.run("erase", "--again")
    found.swept, found.held_at_last = world.rows(), world.holders(ANN, NUMBER)
    return found


Place = tuple[object, object, object]


def _place(row) -> Place:
    """Where a row came from; nothing of a row of gold."""
    return tuple(row.get(name, row.get(f"_{name}")) for name in ("topic", "partition", "offset"))


def _names(row, *values):
    texts = (row.get("value"), row["key"] if row.get("value") is None else b"")
    return any(str(value).encode() in (text or b"") for value in values for text in texts)


def _raw(rows: Rows, feed):
    return rows[f"bronze_{feed}"]


def _places_of(rows: Rows, feed, *values):
    """Where raw rows of persons came from."""
    return {_place(row) for row in _raw(rows, feed) if _names(row, *values)}


def _of(story: Story, rows: Rows, feed):
    """By table but gold's, a feed's rows; tables of erased rows have places alone."""
    (topic,) = {row["topic"] for row in _raw(story.before, feed)}
    return {
        name: Counter(repr(sorted(row.items())) for row in its if _place(row)[0] == topic)
        for name, its in rows.items()
        if not name.startswith("gold_") and not name.endswith("_erased")
    }


def _without(rows: Rows, places, *values):
    """All rows but those from some places; of a value that became several, each by itself."""

    def stays(name, row):
        if name.startswith("silver_basket"):
            return not any(str(value) in repr(row) for value in values)
        return _place(row) not in places

    return {name: [row for row in its if stays(name, row)] for name, its in rows.items()}


def _gold(rows: Rows):
    return {
        name: Counter(repr(sorted(row.items())) for row in its)
        for name, its in rows.items()
        if name.startswith("gold_")
    }


WHO = (ANN, NUMBER, CYD)


def test_nothing_is_left_of_who_was_erased(story):
    assert (story.told["left"], story.told["found"]) == ([], [])
    assert {one["state"] for one in story.told["erasures"]} == {"done"}
    assert story.told["letters"]
    assert story.held == []
    assert story.held_at_last == []


@pytest.mark.parametrize("name", NAMES)
def test_all_rows_of_others_are_as_they_were(story, name):
    assert any(ANN in repr(row) or str(NUMBER) in repr(row) for row in _raw(story.before, name))
    stays = _without(story.before, _places_of(story.before, name, *WHO), *WHO)
    assert _of(story, story.erased, name) == _of(story, stays, name)


def test_gold_is_what_silver_comes_to(story):
    assert _gold(story.before)
    assert _gold(story.erased) == _gold(story.anew)


@pytest.mark.parametrize("name", [name for name in DERIVED_AGAIN if name != "resent"])
def test_a_rebuild_and_a_requeue_change_nothing(story, name):
    assert _of(story, story.anew, name) == _of(story, story.erased, name)


def test_the_first_of_the_others_takes_the_place_of_an_erased_row_in_a_rebuild(story):
    table = "silver_resent_events"
    assert [row["event"] for row in story.erased[table]] == ["b"]
    assert sorted(row["event"] for row in story.anew[table]) == ["a", "b"]


@pytest.mark.parametrize("name", NAMES)
def test_later_rows_come_or_not_as_it_was_asked(story, name):
    gone = _places_of(story.later, name, ANN, NUMBER)
    derived = [
        _place(row)
        for table, its in story.later.items()
        if table.startswith(("silver_", "quarantine_")) or table.endswith("_duplicates")
        for row in its
    ]
    wanted = {_place(row) for row in _raw(story.later, name)} - gone
    if name in ("numbers", "other"):
        wanted -= {
            _place(row)
            for row in _raw(story.later, name)
            if json.loads(row["value"])["n"] in (7, 9)
        }
    assert wanted <= {*derived}
    if name != "baskets":
        assert not gone & {*derived}
    assert len(_raw(story.later, name)) > len(_raw(story.anew, name))
    stays = _without(story.later, gone, ANN, NUMBER)
    assert _of(story, story.swept, name) == _of(story, stays, name)
