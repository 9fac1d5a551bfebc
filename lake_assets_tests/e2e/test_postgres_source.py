"""The whole way of a feed whose rows are in a table of PostgreSQL."""

from dataclasses import dataclass
from decimal import Decimal

import pytest

from lake_assets.bronze.ingest import Ingest
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.run_need import is_run_needed
from lake_assets_tests.databases import Database, running_postgres
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.sources.postgres.landings import PURCHASES, source_of
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark


@dataclass(kw_only=True)
class BillingLake(StreamedLake):
    """A feed's lake, streamed now and then, and the database that it reads."""

    database: Database

    @property
    def silver(self):
        table = self.feed.silver_table("purchases")
        return sorted(self.rows(table, "purchase_id", "player", "amount"))


@pytest.fixture(scope="module")
def databases():
    with running_postgres() as found:
        yield found


@pytest.fixture
def lake(spark, settings, databases):
    database = databases()
    feed = Feed(
        feed="purchases",
        source=Source(postgres=source_of(database)),
        payload=Payload(
            json_=JsonPayload(
                ddl="purchase_id bigint, player string, amount decimal(10,2), "
                "updated_at timestamp, changes int"
            )
        ),
        run="0 * * * *",
    )
    return BillingLake(spark=spark, settings=settings, database=database, feed=feed)


def test_rows_updates_and_late_commits_come_to_silver_once(lake):
    database = lake.database
    add = "insert into purchases (player, amount) values (%s, %s)"
    database.ask(PURCHASES)
    for player, amount in (("ann", "9.90"), ("bob", "1")):
        database.ask(add, player, amount)
    assert lake.stream() is None
    assert is_run_needed(lake.settings, lake.feed, NOWHERE) is False
    with database.begin() as late:
        late.execute(add, ["late", "3.50"])
        database.ask("update purchases set amount = 2, updated_at = now() where player = 'bob'")
        assert is_run_needed(lake.settings, lake.feed, NOWHERE) is True
        assert lake.stream() is None
    assert lake.stream() is None
    wanted = [
        (1, "ann", Decimal("9.90")),
        (2, "bob", Decimal("1.00")),
        (2, "bob", Decimal("2.00")),
        (3, "late", Decimal("3.50")),
    ]
    assert lake.silver == wanted
    assert lake.rows(quarantine_of("purchases"), "detail") == []
    assert sorted(lake.rows(bronze_of("purchases"), "ordinal")) == [(0,), (1,), (2,), (3,)]
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.silver == wanted


class KilledError(Exception):
    """What a test raises in place of a kill."""


@pytest.mark.long
def test_what_was_read_comes_once_though_bronze_dies_and_the_database_forgets(lake, monkeypatch):
    two = lake.settings.stream.model_copy(update={"max_rows_per_batch": 2})
    lake.settings = lake.settings.model_copy(update={"stream": two})
    add = "insert into purchases (player, amount) values (%s, 1)"
    lake.database.ask(PURCHASES)
    for player in "abcde":
        lake.database.ask(add, player)
    commit = Ingest.commit

    def die_later(ingest, landed, until, *, job_s):
        if until["table", 0] > 2:
            raise KilledError
        return commit(ingest, landed, until, job_s=job_s)

    with monkeypatch.context() as patch:
        patch.setattr("lake_assets.bronze.ingest.Ingest.commit", die_later)
        assert lake.stream() is not None
    assert len(lake.rows(bronze_of("purchases"), "ordinal")) == 2
    lake.database.ask("delete from purchases")
    lake.database.ask(add, "f")
    assert lake.stream() is None
    assert [player for _, player, _ in lake.silver] == [*"abcdef"]
