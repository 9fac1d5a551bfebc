"""Batches that a feed noted and did not commit, finished by who fills the same tables."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from lake_assets.delta.commit import ATTEMPT, Commit, DataFile
from lake_assets.delta.commit_journal import journal_of
from lake_assets.delta.log_history import is_done
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.errors import LakeError
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.flows import filling, origin_of
from lake_assets.model.owners import Owner, owner_of_silver
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import bronze_of, duplicates_of, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.deduplicate import Deduplication
from lake_assets.silver.demux_duplicates import deduplicated
from lake_assets.silver.demux_position import POSITION, Position, batch_of
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.duplicate_rows import duplicates_schema
from lake_assets.silver.recovery import Recovery
from lake_assets.silver.rows import quarantine_of_feed, silver_schema
from lake_assets.spark.fan_out import Written
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.streams.deduplication_turn import DEMUX, deduplication_turn
from lake_assets_tests.sample import GAMES

AT = datetime(2026, 11, 25, tzinfo=UTC)
DECODED = pa.schema([("event_id", pa.string())])
UNO = GAMES.silver_table("uno")
ONCE = Deduplicate(key=("event_id",), within=timedelta(hours=1))
OWNER = GAMES.model_copy(update={"deduplicate": ONCE})
OLD = filling(GAMES.model_copy(update={"feed": "old_games", "into": "games"}), OWNER)
OWNER, OLD = OWNER.beside([OLD]), OLD.beside([OWNER])


@dataclass
class Cut:
    """A batch of `old_games` that has one event, is noted, and not committed."""

    context: LakeContext
    state_dir: Path
    commits: list[Commit]
    reports: list[BatchReport]

    def turn(self, feed=OWNER):
        return deduplication_turn(self.context, self.state_dir, feed, self.reports.append)

    def handle(self, table):
        return self.context.committer.fresh(table)

    @property
    def events(self):
        rows = self.handle(UNO).to_pyarrow_table().to_pylist()
        return sorted((row["event_id"], row["_feed"], row["_offset"]) for row in rows)

    def recovered(self):
        """`old_games` starts."""
        recovery = Recovery(
            feed="old_games",
            origin=origin_of(OLD),
            context=self.context,
            journal=journal_of(self.state_dir, "old_games", DEMUX),
            report=self.reports.append,
            turn=self.turn(OLD),
        )
        return recovery.run([UNO], self.handle(bronze_of("old_games")))

    def batch(self, feed=OWNER):
        """A batch of the feed that has the same event."""
        demuxed = Demuxed(
            written={UNO: Written(files=[written(self.context, feed, 7)])}, outcomes={}
        )
        deduplication = Deduplication(feed=feed, context=self.context, turn=self.turn(feed))
        with deduplicated(deduplication, demuxed) as unique:
            commits = [Commit(table=t, files=w.files) for t, w in unique.written.items()]
            self.context.committer.append(commits, batch_of(feed.feed, 1))
        return unique.duplicates.get(("uno"), 0)


def written(context, feed, offset):
    columns = {
        "event_id": ["e"],
        "_topic": ["t"],
        "_partition": [0],
        "_offset": [offset],
        "_kafka_timestamp": [AT],
        "_schema_id": [None],
        "_feed": [feed.feed],
    }
    log, schema = log_of(context.lake, UNO), silver_schema(DECODED, origin_of(feed))
    rows = pa.table({name: columns[name] for name in schema.names}, schema=schema)
    return DataFile(**write_file(log.store, rows, log.folder))


@pytest.fixture
def cut(settings):
    with open_lake(settings) as context:
        aside = {duplicates_of(one.feed): duplicates_schema(origin_of(one)) for one in (OWNER, OLD)}
        quarantine = quarantine_of("old_games")
        bronze = pa.schema([("value", pa.binary())])
        context.committer.create(
            {
                UNO: silver_schema(DECODED, origin_of(OLD)),
                quarantine: quarantine_of_feed(OLD),
                bronze_of("old_games"): bronze,
                **aside,
            },
            owners={UNO: owner_of_silver(OLD, "uno"), quarantine: Owner(feed="old_games")},
        )
        bronze_id = str(context.committer.fresh(bronze_of("old_games")).metadata().id)
        begin = Position(bronze_id=bronze_id, tables=checksum({}))
        first = Commit(table=quarantine, files=(), info={POSITION: begin.to_json()})
        context.committer.append([first], batch_of("old_games", 0))
        reached = replace(begin, number=1, tables=checksum({UNO: 1}))
        commits = [
            Commit(table=UNO, files=[written(context, OLD, 1)], info={"rows": "1"}),
            Commit(table=quarantine, files=(), info={POSITION: reached.to_json()}),
        ]
        journal_of(settings.state_dir, "old_games", DEMUX).write(batch_of("old_games", 1), commits)
        yield Cut(context, settings.state_dir, commits, [])


@pytest.mark.parametrize("feed", [OWNER, OWNER.beside(())], ids=["declared", "declared no more"])
@pytest.mark.parametrize("parts", [0, 1])
def test_who_fills_the_same_tables_finishes_it_and_compares_with_its_rows(cut, feed, parts):
    cut.context.committer.append(cut.commits[:parts], batch_of("old_games", 1))
    assert cut.batch(feed) == 1
    assert cut.events == [("e", "old_games", 1)]
    assert is_done(cut.handle(quarantine_of("old_games")), batch_of("old_games", 1))
    assert [(one.feed, one.rows) for one in cut.reports] == (
        [("old_games", {UNO.name: 1})] if feed.others else []
    )


def test_the_feed_itself_goes_on_behind_what_another_finished(cut):
    cut.batch()
    assert cut.recovered().position.number == 1
    assert (cut.events, len(cut.reports)) == ([("e", "old_games", 1)], 1)


def test_nobody_finishes_what_the_feed_itself_did_not_believe(cut):
    # A table has the batch by another run than the journal's, as where a folder was put back.
    other = Commit(table=UNO, files=[written(cut.context, OLD, 2)], info={ATTEMPT: "another"})
    cut.context.committer.append([other], batch_of("old_games", 1))
    assert cut.events == [("e", "old_games", 2)]
    assert cut.recovered().position.number == 0
    with cut.turn()():
        assert cut.events == []


def lose_a_file(cut):
    (cut.context.lake.root.as_path() / UNO.relative / cut.commits[0].files[0].path).unlink()


def restore(cut):
    empty = Commit(table=UNO, files=(), info={})
    cut.context.committer.append([empty], batch_of("third", 1))
    cut.handle(UNO).restore(0)


def tear_the_journal(cut):
    journal_of(cut.state_dir, "old_games", DEMUX).path.write_text("{")


@pytest.mark.parametrize("harm", [lose_a_file, restore, tear_the_journal])
def test_what_cannot_be_finished_is_left_to_the_feed_itself(cut, harm):
    harm(cut)
    with cut.turn()():
        assert cut.events == []
    assert not is_done(cut.handle(quarantine_of("old_games")), batch_of("old_games", 1))


def test_a_feed_that_fills_other_tables_is_nobodys_concern(cut):
    other = OWNER.model_copy(update={"feed": "plays"})
    with cut.turn(other.beside(()))():
        assert cut.events == []


def test_who_does_not_deduplicate_waits_for_nobody(cut):
    assert isinstance(cut.turn(GAMES)(), nullcontext)
    assert not [*cut.state_dir.glob("deduplicate-*")]


def test_a_rebuild_of_all_goes_on_where_what_another_noted_cannot_be_finished(cut, caplog):
    change = cut.context.lake.root.as_path() / quarantine_of("old_games").relative / "_change.json"
    change.write_text("{")
    with pytest.raises(LakeError, match="is damaged"), cut.turn()():
        pass
    with cut.turn()(finishes=False):
        assert "is damaged" in caplog.text
