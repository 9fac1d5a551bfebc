"""Tasks that die after their files are in the lake and before they tell of them: Spark runs them
again, as a cluster does, and they write again.

One JVM never tries a task twice, unless its master says so: `local[2,3]`.
"""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.maintenance.run import maintain
from lake_assets.model.tables import bronze_of
from lake_assets.silver.demux_job import Job
from lake_assets.spark.session import start_session
from lake_assets_tests import spark_sessions
from lake_assets_tests.e2e.doomed_attempts import dying
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.maintenance.lakes import later
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TABLES = (bronze_of("games"), silver_of("uno"), silver_of("go_fish"))


@pytest.fixture(scope="module")
def retrying(spark_settings, runtime):
    """A session that runs a task up to three times, in the JVM that is there."""
    own = spark_settings.spark.model_copy(update={"master": "local[2,3]"})
    settings = spark_settings.model_copy(update={"spark": own})
    spark_sessions.stop_another(settings)
    yield start_session(settings, runtime)
    spark_sessions.stop_another(spark_settings)


@pytest.fixture
def lake(retrying, services, settings):
    return StreamedLake(retrying, settings, Topic(services))


@pytest.mark.parametrize(
    ("way", "writers"), [("stream_in_one_job", [Job]), ("stream", [Ingest, Job])]
)
def test_files_of_an_attempt_that_told_nobody_double_no_row(lake, monkeypatch, way, writers):
    for writer in writers:
        monkeypatch.setattr(writer, "output", _dying(writer.output))
    known = lake.topic.register(0)
    places = lake.topic.produce(*[framed(known, "uno"), framed(known, "go_fish")] * 20)
    getattr(lake, way)()
    assert sorted(lake.bronze.elements()) == sorted(lake.silver.elements()) == sorted(places)
    assert len(lake.reports) == 2  # no batch failed: Spark ran its tasks again
    named = {table: _named(lake, table) for table in TABLES}
    for table in TABLES:
        dead = _there(lake, table) - named[table]
        # All that the first attempt had to write was there.
        assert sum(map(_rows, dead)) == sum(lake.places(table).values())
    maintain(lake.settings, lake.feed)
    later(lake.settings)
    maintain(lake.settings, lake.feed)
    assert {table: _there(lake, table) for table in TABLES} == named
    assert sorted(lake.silver.elements()) == sorted(places)


def _dying(output):
    return lambda self, *given: dying(output(self, *given))


def _there(lake, table):
    """A table's data files, whoever knows of them."""
    folder = lake.folder(table)
    return {path for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts}


def _named(lake, table):
    """Those that its log names."""
    return {*map(Path, DeltaTable(lake.folder(table)).file_uris())}


def _rows(file):
    return pq.read_metadata(file).num_rows
