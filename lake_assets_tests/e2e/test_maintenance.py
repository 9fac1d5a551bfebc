"""Streams, refreshes, rebuilds and other engines on a lake that is maintained meanwhile.

The table in docs/operations.md says who may run beside whom; each of its rows is a test here, in
maintenance/test_run.py, or a step of test_random_faults.py.
"""

import threading

import pytest
from deltalake import DeltaTable

from lake_assets.gold.run import Warm
from lake_assets.maintenance.run import maintain
from lake_assets.model.reports import Mode
from lake_assets.model.tables import bronze_of
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import turn
from lake_assets.streams.noted_changes import REDO_TURN
from lake_assets.streams.refresh import refresh_gold
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES, silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = pytest.mark.spark

UNO = silver_of("uno")


def maintain_at_once(settings, feed=GAMES, **options):
    """As if an hour had passed: all that may go goes."""
    upkeep = MaintenanceSettings(keep_hours=1e-9, join_at_files=2)
    return maintain(settings.model_copy(update={"maintenance": upkeep}), feed, **options)


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


@pytest.fixture
def refresh(settings, spark):
    with open_lake(settings, spark) as context:

        def go(**options):
            done = refresh_gold(
                settings, GAMES, warm=Warm(session=spark, context=context), **options
            )
            return [each for report in done.reports for each in report.refreshed]

        yield go


@pytest.mark.kafka
@pytest.mark.slow
def test_streams_requeue_and_rebuild_go_on_from_a_maintained_lake(lake, spark):
    schema = lake.topic.register(0)
    values = [framed(schema), framed(schema, "go_fish"), framed(schema, "chess")]
    sent = []
    for _ in range(6):
        sent += lake.topic.produce(*values)
        lake.stream()
        maintain_at_once(lake.settings, lake.feed)
    files = DeltaTable(lake.folder(UNO)).file_uris()
    assert len(files) < 4
    # The last batch's stays, which its journal names.
    assert len(list(lake.folder(UNO).glob("*.parquet"))) <= len(files) + 1
    lake.stream()
    assert sum(lake.bronze.values()) == len(sent)
    assert sorted((lake.silver + lake.quarantine).elements()) == sorted(sent)
    for table in (bronze_of("games"), UNO):
        rows = spark.read.format("delta").load(str(lake.folder(table)))
        assert rows.count() == sum(lake.places(table).values())
    with lake.redo() as redo:
        redo.requeue()
    lake.rebuild()
    maintain_at_once(lake.settings, lake.feed)
    sent += lake.topic.produce(*values)
    lake.stream()
    assert sorted((lake.silver + lake.quarantine).elements()) == sorted(sent)


@pytest.mark.long
@pytest.mark.kafka
def test_a_rebuild_may_begin_while_files_are_joined(lake):
    """Each waits for the other's turn of a table, and skips it."""
    schema = lake.topic.register(0)
    sent = []
    for _ in range(4):
        sent += lake.topic.produce(framed(schema), framed(schema, "go_fish"))
        lake.stream()
    done = threading.Event()
    told = []

    def upkeep():
        while not done.is_set():
            told.extend(maintain_at_once(lake.settings, lake.feed))

    worker = threading.Thread(target=upkeep)
    worker.start()
    try:
        for _ in range(2):
            with turn(lake.settings.state_dir, REDO_TURN):  # as `rebuild_silver`
                lake.rebuild()
    finally:
        done.set()
        worker.join()
    assert told
    for _ in range(2):
        assert sorted(lake.silver.elements()) == sorted(sent)
        maintain_at_once(lake.settings, lake.feed)


def test_a_view_goes_on_from_where_it_is(settings, refresh):
    add_silver(settings.lake_dir, "uno", "ann")
    refresh()
    for number in range(1, 25):
        add_silver(settings.lake_dir, "uno", "ann", start=number)
    done = {upkeep.table: upkeep for upkeep in maintain_at_once(settings)}[UNO]
    assert done.joined == 25
    assert done.deleted == done.log_files == 0
    assert done.notes == ["older versions are kept: view player_agg is behind"]
    (one,) = refresh()
    assert (one.mode, one.rows) == (Mode.INCREMENTAL, 1)
    # Now nothing needs them.
    after = {upkeep.table: upkeep for upkeep in maintain_at_once(settings)}[UNO]
    assert after.deleted == 25
    assert after.log_files
    add_silver(settings.lake_dir, "uno", "bob", start=99)
    (one,) = refresh()
    assert (one.mode, one.rows) == (Mode.INCREMENTAL, 2)


def test_a_view_that_is_up_to_date_is_not_computed_anew_by_a_compaction(settings, refresh):
    for number in range(6):
        add_silver(settings.lake_dir, "uno", "ann", start=number)
    refresh()
    assert {upkeep.table: upkeep for upkeep in maintain_at_once(settings)}[UNO].joined == 6
    assert [one.mode for one in refresh()] in ([], [Mode.INCREMENTAL])


def test_deletion_vectors_of_spark_are_kept(settings, spark):
    for number in range(3):
        add_silver(settings.lake_dir, "uno", "ann", "bob", start=number * 10)
    folder = settings.lake_dir / UNO.relative
    table = f"delta.`{folder}`"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    spark.sql(f"DELETE FROM {table} WHERE gamer_id = 'bob' AND _offset = 1")  # noqa: S608
    for number in range(3, 6):
        add_silver(settings.lake_dir, "uno", "ann", "bob", start=number * 10)
    maintain_at_once(settings)
    assert spark.read.format("delta").load(str(folder)).count() == 11
    assert list(folder.rglob("deletion_vector_*.bin"))
