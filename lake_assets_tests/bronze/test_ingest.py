from dataclasses import replace
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as F

from lake_assets.bronze.ingest import Ingest
from lake_assets.delta.committer import Committer
from lake_assets.delta.source_offsets import table_offsets
from lake_assets.errors import StreamError
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.reports import Stage
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.known_topic import known_topic
from lake_assets_tests.places import t
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark

FEED = GAMES.model_copy(update={"source": Source(kafka=KafkaSource(topic="t"))})

COLUMNS = (
    "key binary, value binary, headers string, topic string, partition int, offset bigint, "
    "kafka_timestamp timestamp"
)


HEADERS = '[{"key":"h","value":"eA=="}]'


@pytest.fixture
def kafka(spark):
    """Rows as the source gives them, one an offset."""

    def rows(*offsets):
        at = datetime(2026, 11, 21, tzinfo=UTC)
        return spark.createDataFrame(
            [(None, b"v", HEADERS, "t", 0, offset, at) for offset in offsets], COLUMNS
        )

    return rows


@pytest.fixture
def reports():
    return []


@pytest.fixture
def ingest(settings, reports):
    with open_lake(settings) as context:
        source = known_topic("t", t({0: 1}), t({0: 9}), identity=7)
        found = Ingest(feed=FEED, source=source, context=context, report=reports.append)
        found.prepare()
        yield found


@pytest.fixture
def bronze(settings):
    def read():
        return DeltaTable(settings.lake_dir / bronze_of("games").relative)

    return read


def offsets(table):
    return sorted(table.to_pyarrow_table()["offset"].to_pylist())


def test_a_partition_that_is_gone_is_told_of_before_its_rows_are_asked_for(ingest, kafka, settings):
    """A broker that knows none does not answer about it."""
    ingest(kafka(1), t({0: 2}))
    fewer = known_topic("t", t({1: 0}), t({1: 9}))
    fewer.times = lambda offsets: pytest.fail(str(offsets)) if offsets else {}
    with open_lake(settings) as context:
        again = Ingest(feed=FEED, source=fewer, context=context, report=print)
        with pytest.raises(StreamError, match="partition 0 of topic 't': is not there"):
            again.prepare()


@pytest.mark.usefixtures("ingest")
def test_the_table_is_there_before_its_first_row(bronze):
    assert bronze().metadata().partition_columns == ["ingested_date"]


def test_a_batch_lands_with_its_headers_and_date(ingest, kafka, bronze):
    before = datetime.now(UTC)
    ingest(kafka(1), t({0: 2}))
    (row,) = bronze().to_pyarrow_table().to_pylist()
    assert (row["value"], row["headers"]) == (b"v", [{"key": "h", "value": b"x"}])
    assert before <= row["ingested_at"] <= datetime.now(UTC)
    assert row["ingested_date"] == row["ingested_at"].date()


def test_a_batch_is_reported_with_its_rows(ingest, kafka, reports):
    ingest(kafka(1, 2), t({0: 3}))
    (report,) = reports
    assert (report.feed, report.stage, report.batch_id) == ("games", Stage.INGEST, 2)
    assert report.rows == {"bronze_games": 2}


def test_a_commit_says_how_many_rows_it_has(ingest, kafka, bronze):
    ingest(kafka(1, 2), t({0: 3}))
    assert bronze().history(1)[0]["rows"] == "2"


def test_a_commit_records_the_offsets_that_come_next(ingest, kafka, bronze):
    assert table_offsets(bronze(), "kafka", "t") == {("t", 0): 1}
    ingest(kafka(1, 2), t({0: 3}))
    assert table_offsets(bronze(), "kafka", "t") == {("t", 0): 3}


def test_a_batch_that_dies_before_its_commit_leaves_bronze_where_it_was(ingest, kafka, bronze):
    class Dying(Committer):
        """A committer whose process dies."""

        def append(self, *_):
            raise KeyboardInterrupt

    committer = Dying(ingest.context.committer.store, threads=1)
    dying = replace(ingest, context=replace(ingest.context, committer=committer))
    with pytest.raises(KeyboardInterrupt):
        dying(kafka(1, 2), t({0: 3}))
    committer.close()
    assert again(ingest).prepare() == t({0: 1})
    assert offsets(bronze()) == []


def test_a_batch_without_rows_or_offsets_commits_nothing(ingest, kafka, bronze, reports):
    before = bronze().version()
    ingest(kafka(), t({0: 1}))
    assert (bronze().version(), reports) == (before, [])


def test_preparing_again_changes_nothing_and_goes_on_after_the_rows(ingest, kafka, bronze):
    ingest(kafka(1), t({0: 2}))
    before = bronze().version()
    assert again(ingest, starting_offsets="latest").prepare() == t({0: 2})
    assert bronze().version() == before


def test_a_partition_that_came_since_is_read_from_its_first_row(ingest, kafka):
    ingest(kafka(1), t({0: 2}))
    wider = again(ingest, t({0: 0, 1: 0}), t({0: 9, 1: 9}), starting_offsets="latest")
    assert wider.prepare() == t({0: 2, 1: 0})


def test_a_partition_that_came_since_and_lost_rows_stops_the_feed(ingest, kafka):
    ingest(kafka(1), t({0: 2}))
    with pytest.raises(StreamError, match=r"partition 1 .* begins at offset 5"):
        again(ingest, t({0: 0, 1: 5}), t({0: 9, 1: 9})).prepare()


def recorded(ingest):
    return sorted(found.gap for found in recorded_gaps(ingest.context.lake, "games"))


def gap(start, end, reason=GapReason.DELETED):
    return Gap(source="t", partition=0, offset_from=start, offset_to=end, reason=reason)


def test_a_gap_is_recorded_before_bronze_passes_it(ingest, kafka, bronze):
    ingest(kafka(1), t({0: 2}))
    assert again(ingest, t({0: 5}), on_gap="record").prepare() == t({0: 5})
    assert table_offsets(bronze(), "kafka", "t") == {("t", 0): 5}
    assert recorded(ingest) == [gap(2, 5)]


def test_a_gap_is_recorded_once_though_the_process_dies_before_bronze_passes_it(
    ingest, kafka, bronze
):
    ingest(kafka(1), t({0: 2}))
    dying = again(ingest, t({0: 5}), on_gap="record")

    class Dying(Committer):
        """A committer whose process dies before it commits to bronze."""

        def append(self, commits, batch):
            if commits[0].table == bronze_of("games"):
                raise KeyboardInterrupt
            return super().append(commits, batch)

    committer = Dying(ingest.context.committer.store, threads=1)
    with pytest.raises(KeyboardInterrupt):
        replace(dying, context=replace(ingest.context, committer=committer)).prepare()
    committer.close()
    assert table_offsets(bronze(), "kafka", "t") == {("t", 0): 2}
    assert recorded(ingest) == [gap(2, 5)]
    assert again(ingest, t({0: 7}), on_gap="record").prepare() == t({0: 7})
    assert recorded(ingest) == [gap(2, 5), gap(5, 7)]


def test_rows_of_a_source_that_was_created_again_meanwhile_are_not_committed(ingest, kafka, bronze):
    ingest(kafka(1), t({0: 2}))
    ingest.source.told_identity = 8
    with pytest.raises(StreamError, match="is not the one that bronze has rows of"):
        ingest(kafka(2), t({0: 3}))
    assert offsets(bronze()) == [1]


def test_another_source_of_new_offsets_is_gone_on_with_and_is_the_known_one_then(
    ingest, kafka, bronze
):
    ingest(kafka(1), t({0: 2}))
    other = again(ingest, t({0: 6}), identity=8, on_gap="record")
    assert other.prepare() == t({0: 6})
    other(kafka(6), t({0: 7}))
    assert offsets(bronze()) == [1, 6]
    assert recorded(ingest) == [gap(2, 6, GapReason.RECREATED)]
    assert again(ingest, t({0: 6}), identity=8).prepare() == t({0: 7})


def test_another_source_that_would_have_rows_under_offsets_of_before_is_refused(ingest, kafka):
    ingest(kafka(1), t({0: 2}))
    with pytest.raises(StreamError, match="has offset 0 again"):
        again(ingest, t({0: 0}), identity=8, on_gap="record").prepare()
    assert recorded(ingest) == []


def test_a_partition_that_nothing_was_read_of_is_begun_anew_in_another_source(settings, kafka):
    def begun(context, begins, identity):
        source = known_topic("t", begins, t({0: 9, 1: 9}), identity, on_gap="record")
        own = Source(kafka=KafkaSource(topic="t", on_gap="record"))
        feed = FEED.model_copy(update={"source": own})
        return Ingest(feed=feed, source=source, context=context, report=print)

    with open_lake(settings) as context:
        first = begun(context, t({0: 0, 1: 5}), 7)
        assert first.prepare() == t({0: 0, 1: 5})
        first(kafka(0), t({0: 1}))
        second = begun(context, t({0: 1, 1: 0}), 8)
        assert second.prepare() == t({0: 1, 1: 0})
        second(partition_1(kafka(0)), t({1: 1}))
        with pytest.raises(StreamError, match="partition 1 has offset 0 again"):
            begun(context, t({0: 1, 1: 0}), 9).prepare()


def partition_1(rows):
    return rows.withColumn("partition", F.lit(1))


def again(ingest, begins=None, ends=None, *, identity=7, **declared):
    """As a process that has just started has it."""
    known = (begins or t({0: 1}), ends or t({0: 9}))
    source = known_topic("t", *known, identity=identity, **declared)
    own = {"source": Source(kafka=KafkaSource(topic="t", **declared))}
    return Ingest(
        feed=FEED.model_copy(update=own),
        source=source,
        context=ingest.context,
        report=ingest.report,
    )
