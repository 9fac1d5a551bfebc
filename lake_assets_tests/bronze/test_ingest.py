from dataclasses import replace
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.lake.change import Batch
from lake_assets.lake.commits import CommitDoor
from lake_assets.lake.journal import Journal
from lake_assets.lake.means import lake_means
from lake_assets.model.reports import Hop
from lake_assets.model.tables import bronze_of

pytestmark = pytest.mark.spark

FIRST = Batch("query", 0)

KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key string, value binary>>"
)


@pytest.fixture
def kafka(spark):
    """Rows as Spark's Kafka source gives them, one an offset."""

    def rows(*offsets):
        at = datetime(2026, 11, 21, tzinfo=UTC)
        return spark.createDataFrame(
            [(None, b"v", "t", 0, offset, at, 0, [("h", b"x")]) for offset in offsets], KAFKA
        )

    return rows


@pytest.fixture
def reports():
    return []


@pytest.fixture
def ingest(settings, reports):
    with lake_means(settings) as means:
        found = Ingest(
            feed="games",
            means=means,
            journal=Journal(settings.state_dir / "games-ingest.json"),
            report=reports.append,
        )
        found.prepare()
        yield found


@pytest.fixture
def bronze(settings):
    def read():
        return DeltaTable(bronze_of("games").path(settings.lake_dir))

    return read


def offsets(table):
    return sorted(table.to_pyarrow_table()["offset"].to_pylist())


@pytest.mark.usefixtures("ingest")
def test_the_table_is_there_before_its_first_row(bronze):
    assert bronze().metadata().partition_columns == ["ingested_date"]


def test_a_batch_lands_with_its_headers_and_date(ingest, kafka, bronze):
    before = datetime.now(UTC)
    ingest(kafka(1), FIRST)
    (row,) = bronze().to_pyarrow_table().to_pylist()
    assert (row["value"], row["headers"]) == (b"v", [{"key": "h", "value": b"x"}])
    assert before <= row["ingested_at"] <= datetime.now(UTC)
    assert row["ingested_date"] == row["ingested_at"].date()


def test_a_batch_is_reported_with_its_rows(ingest, kafka, reports):
    ingest(kafka(1, 2), FIRST)
    (report,) = reports
    assert (report.feed, report.hop, report.batch_id) == ("games", Hop.INGEST, 0)
    assert report.rows == {"bronze_games": 2}


def test_a_commit_says_how_many_rows_it_has(ingest, kafka, bronze):
    ingest(kafka(1, 2), FIRST)
    assert bronze().history(1)[0]["rows"] == "2"


def test_a_repeated_batch_writes_nothing(ingest, kafka, bronze):
    ingest(kafka(1), FIRST)
    ingest(kafka(1), FIRST)
    assert offsets(bronze()) == [1]


def test_a_batch_that_died_before_its_commit_is_finished_from_the_journal(
    ingest, kafka, bronze, reports
):
    class Dying(CommitDoor):
        """A door whose process dies."""

        def append(self, *_):
            raise KeyboardInterrupt

    door = Dying(ingest.means.lake, threads=1)
    dying = replace(ingest, means=replace(ingest.means, door=door))
    with pytest.raises(KeyboardInterrupt):
        dying(kafka(1, 2), FIRST)
    door.close()
    ingest(kafka(), FIRST)
    assert offsets(bronze()) == [1, 2]
    assert [report.rows for report in reports] == [{"bronze_games": 2}]


def test_an_empty_batch_adds_no_row(ingest, kafka, bronze, reports):
    ingest(kafka(), FIRST)
    assert offsets(bronze()) == []
    assert sum(reports[0].rows.values()) == 0


def test_preparing_again_changes_nothing(ingest, kafka, bronze):
    ingest(kafka(1), FIRST)
    ingest.prepare()
    assert bronze().version() == 1
