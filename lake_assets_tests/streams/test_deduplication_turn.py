"""Rebuilds of a feed that deduplicates, where a change of silver was cut off for good."""

import json
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest

from lake_assets.bronze.ingest import Ingest
from lake_assets.errors import LakeError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.tables import duplicates_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.selecting import with_select
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import follower_of, turn_of
from lake_assets.streams.reprocess import rebuild
from lake_assets_tests.events import AT
from lake_assets_tests.known_topic import NOWHERE, known_topic
from lake_assets_tests.silver.routing import feed
from lake_assets_tests.silver.test_reprocess import dying
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = pytest.mark.spark

COLUMNS = (
    "key binary, value binary, headers string, topic string, partition int, offset bigint, "
    "kafka_timestamp timestamp"
)


class JsonLake(StreamedLake):
    """A lake of JSON events, each once an hour, whose bronze is written without a broker."""

    @property
    def feed(self):
        once = {"key": ["level"], "within": "1h", "time": "at"}
        return feed({"column": "kind", "keys": ["uno", "chess"]}, deduplicate=once)

    def _demux(self, pipeline, declared):
        surroundings = Surroundings(registry_access=RegistryAccess())
        found = with_select(self.spark, declared, format_of(declared, surroundings), b"")
        return Demux(
            feed=declared,
            context=pipeline.context,
            journal=pipeline.journal(declared),
            format=found,
            schemas=found,
            report=self.reports.append,
            turn=turn_of(pipeline, declared),
        )

    def _follower(self, pipeline, declared):
        return follower_of(pipeline, self._demux(pipeline, declared))

    @contextmanager
    def redo(self, feed=None):
        feed = feed or self.feed
        with self.pipeline() as pipeline:
            journal = reprocess_journal(pipeline.context.lake, feed)
            demux = self._demux(pipeline, feed)
            yield Redo(session=self.spark, demux=demux, journal=journal)

    def land(self, *values):
        rows = [
            (None, json.dumps(value).encode(), None, "t", 0, at, AT)
            for at, value in enumerate(values)
        ]
        with open_lake(self.settings) as context:
            source = known_topic("t", {0: 0}, {0: len(rows)})
            ingest = Ingest(feed=self.feed, source=source, context=context, report=lambda _: None)
            ingest.prepare()
            ingest(self.spark.createDataFrame(rows, COLUMNS), {("t", 0): len(rows)})

    @property
    def rows(self):
        """By table, where its rows came from."""
        tables = [*map(self.feed.silver_table, self.feed.keys), duplicates_of("events")]
        return {table.name: dict(self.places(table)) for table in tables}


def damage(_, journal):
    """The note of a change is torn."""
    journal.write_text("{")


def cut_off(lake, journal):
    """A change has one of its parts, and a file of it is gone."""
    with lake.redo() as redo, suppress(KeyboardInterrupt):
        rebuild(dying(redo), lake.settings.state_dir)
    uno = lake.feed.silver_table("uno")
    for part in json.loads(journal.read_text())["tables"]:
        for file in part["files"] if part["name"] == uno.name else ():
            (lake.folder(uno) / file["path"]).unlink()


@pytest.mark.parametrize("harm", [damage, cut_off])
def test_a_rebuild_mends_what_a_change_left_that_cannot_be_finished(spark, settings, harm):
    lake = JsonLake(spark, settings, SimpleNamespace(endpoints=NOWHERE, name="t"))
    event = {"kind": "uno", "level": 0, "at": "2026-11-25T10:00:00Z"}
    lake.land(event, {**event, "kind": "chess"}, {**event, "level": 1}, event)
    lake.demux()
    before = lake.rows
    assert before[duplicates_of("events").name] == {(0, 3): 1}
    with lake.redo() as redo:
        journal = redo.journal.file.as_path()
    harm(lake, journal)
    with pytest.raises(LakeError, match="rebuild silver"):
        lake.demux()
    lake.rebuild()
    assert lake.rows == before
    lake.demux()
    assert lake.rows == before
