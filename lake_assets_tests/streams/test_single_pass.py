from dataclasses import replace

import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException

from lake_assets.errors import LakeAssetsError
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.reports import Stage
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.tables import bronze_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_job import Job
from lake_assets.spark.fan_out import Output
from lake_assets_tests.e2e.dying import doomed
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


def jobs(lake):
    """Spark jobs are not counted: demux's report has no time of a job of its own in one pass."""
    return [r.seconds["job"] for r in lake.reports if r.stage is Stage.DEMUX]


def test_rows_go_to_bronze_and_silver_in_one_job(lake):
    known = lake.topic.register(0)
    places = lake.topic.produce(framed(known, "uno"), framed(known, "go_fish"), b"bad")
    lake.stream_in_one_job()
    assert sorted(lake.bronze.elements()) == sorted(places)
    assert sorted(lake.silver.elements()) == sorted(places[:2])
    assert sorted(lake.quarantine.elements()) == places[2:]
    assert jobs(lake) == [0.0]


def test_the_rows_are_those_that_two_jobs_make(lake, spark, tmp_path):
    known = lake.topic.register(0)
    lake.topic.produce(*[framed(known, "uno"), framed(known, "go_fish"), b"bad"] * 5)
    lake.stream_in_one_job()
    other = lake.settings.model_copy(update={"home": tmp_path / "other"})
    apart = StreamedLake(spark, other, lake.topic)
    apart.stream()
    for table in (silver_of("uno"), silver_of("go_fish")):
        here, there = (
            DeltaTable(one.folder(table)).to_pyarrow_table().sort_by([("_partition", "ascending")])
            for one in (lake, apart)
        )
        assert here.schema == there.schema
        by = [("_partition", "ascending"), ("_offset", "ascending")]
        assert here.sort_by(by).to_pylist() == there.sort_by(by).to_pylist()


def test_it_goes_on_where_two_jobs_were_and_they_where_it_was(lake):
    known, places = lake.topic.register(0), []
    for stream in (lake.stream, lake.stream_in_one_job, lake.stream, lake.stream_in_one_job):
        places += lake.topic.produce(framed(known), framed(known))
        stream()
    assert sorted(lake.silver.elements()) == sorted(places)
    assert sorted(lake.bronze.elements()) == sorted(places)


def test_rows_that_bronze_has_and_silver_lacks_come_first(lake):
    known = lake.topic.register(0)
    first = lake.topic.produce(framed(known))
    lake.ingest()
    second = lake.topic.produce(framed(known))
    lake.stream_in_one_job()
    assert sorted(lake.silver.elements()) == sorted([*first, *second])


def test_a_row_that_raises_a_question_goes_to_bronze_and_demux_takes_it(lake):
    known = lake.topic.register(0)
    lake.topic.produce(framed(known))
    lake.stream_in_one_job()
    asking = lake.topic.produce(framed(lake.topic.register(1), "uno"), framed(known, "uno"))
    lake.stream_in_one_job()
    assert lake.silver.keys() >= set(asking)
    assert sum(lake.silver.values()) == 3


def test_a_key_that_comes_along_gets_its_table(lake):
    feed = lake.topic.feed(route=Route(column="game_name", keys=("uno",), unknown=Unknown.CREATE))
    known = lake.topic.register(0)
    places = lake.topic.produce(framed(known, "uno"), framed(known, "chess"))
    lake.stream_in_one_job(feed)
    assert sorted(lake.places(silver_of("chess")).elements()) == places[1:]
    more = lake.topic.produce(framed(known, "chess"))
    lake.stream_in_one_job(feed)
    assert sorted(lake.places(silver_of("chess")).elements()) == sorted([places[1], *more])


def test_an_expectation_that_fails_leaves_the_rows_in_bronze(lake):
    known = lake.topic.register(0)
    rule = Expectation(name="never", sql="game_name <> 'uno'", action=Action.FAIL)
    feed = lake.topic.feed(expectations=(rule,))
    places = lake.topic.produce(framed(known, "uno"))
    with pytest.raises(LakeAssetsError, match="never"):
        lake.stream_in_one_job(feed)
    assert sorted(lake.bronze.elements()) == places
    assert not lake.silver


def test_what_only_spark_can_judge_takes_two_jobs(lake):
    known = lake.topic.register(0)
    rule = Expectation(name="odd", sql="crc32(cast(game_name as binary)) is not null")
    places = lake.topic.produce(framed(known, "uno"))
    lake.stream_in_one_job(lake.topic.feed(expectations=(rule,)))
    assert sorted(lake.silver.elements()) == places
    assert jobs(lake)[0] > 0.0


def test_a_job_that_dies_leaves_the_batch_to_bronze_and_demux(lake, monkeypatch):
    class Fatal:
        def __call__(self, batches):
            raise RuntimeError(f"of one row of {batches}")

        def notes(self):
            return ()

    def dying(demux, session):
        job = next_job(demux, session)
        return Dying(job.feed, job.plan, job.context, job.reading, job.program)

    class Dying(Job):
        def output(self, *args):
            return Output(plan=super().output(*args).plan, transform=Fatal)

    next_job = Demux.next_job
    monkeypatch.setattr(Demux, "next_job", dying)
    places = lake.topic.produce(framed(lake.topic.register(0)))
    lake.stream_in_one_job()
    assert sorted(lake.bronze.elements()) == sorted(lake.silver.elements()) == places
    assert jobs(lake)[0] > 0.0


def test_a_batch_that_bronze_refuses_leaves_no_files_in_silver(lake):
    lake.topic.produce(framed(lake.topic.register(0)))
    lake.stream_in_one_job()
    before = set(lake.folder(silver_of("uno")).glob("*.parquet"))
    lake.topic.produce(framed(lake.topic.register(0)))
    with pytest.raises(StreamingQueryException, match="KilledError"):
        replace(lake, kind=doomed("before")).stream_in_one_job()
    assert set(lake.folder(silver_of("uno")).glob("*.parquet")) == before
    lake.stream_in_one_job()
    assert sorted(lake.silver.elements()) == sorted(lake.bronze.elements())


def test_files_that_are_not_used_do_not_stay(lake):
    known = lake.topic.register(0)
    lake.topic.produce(framed(known))
    lake.stream_in_one_job()
    lake.topic.produce(framed(lake.topic.register(1)))
    lake.stream_in_one_job()
    for table in (silver_of("uno"), bronze_of("games")):
        handle = DeltaTable(lake.folder(table))
        there = {path.name for path in lake.folder(table).rglob("*.parquet")}
        named = {path.rsplit("/", 1)[-1] for path in handle.file_uris()}
        checkpoints = {p.name for p in (lake.folder(table) / "_delta_log").glob("*.parquet")}
        assert there - checkpoints == named


@pytest.mark.parametrize("way", [StreamedLake.stream, StreamedLake.stream_in_one_job])
def test_a_batch_that_a_table_refuses_leaves_no_files(lake, way):
    known = lake.topic.register(0)
    lake.topic.produce(framed(known, "uno"), framed(known, "go_fish"))
    way(lake)
    uno = DeltaTable(lake.folder(silver_of("uno")))
    uno.alter.add_constraint({"ours": "gamer_id <> 'bob'"})
    before = {
        path for path in lake.settings.lake_dir.rglob("part-*.parquet") if "silver" in str(path)
    }
    refused = lake.topic.produce(framed(known, "uno", gamer="bob"), framed(known, "go_fish"))
    with pytest.raises((LakeAssetsError, StreamingQueryException), match="ours"):
        way(lake)
    assert {
        path for path in lake.settings.lake_dir.rglob("part-*.parquet") if "silver" in str(path)
    } == before
    uno.update_incremental()
    uno.alter.drop_constraint("ours")
    way(lake)
    assert lake.silver.keys() >= set(refused)
    assert set(lake.silver.values()) == {1}
