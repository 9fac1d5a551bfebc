from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.committer import Committer
from lake_assets.delta.multi_table_change import finish
from lake_assets.delta.offset_range import Range
from lake_assets.errors import ExpectationFailedError, LakeError
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.routes import Route
from lake_assets.model.tables import SCHEMA_LOG, quarantine_of, waiting_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_position import reprocess_app
from lake_assets.silver.reprocess import Bronze, Redo
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.silver.given import bronze_batch, no_position

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

QUARANTINE = quarantine_of("games")

WAITING = waiting_of("games")

NOBODYS = 2**31 - 1
"""A schema id that no registry gives."""

WITH_CHESS = Route(column="game_name", keys=("uno", "go_fish", "chess"))

BY_DEVICE = Route(column="device_id", keys=("uno", "go_fish"))


def gamer_is_known(action):
    return Expectation(name="gamer_is_known", sql="gamer_id <> ''", action=action)


class Lake:
    """A lake whose demux ran some batches, and whose feed may change after."""

    def __init__(self, spark, settings, context, services):
        self.spark = spark
        self.context = context
        self.topic = Topic(services)
        registry = Registry(services.registry, PROTOBUF)
        self.format = ProtobufFormat(ProtobufPayload(subject=self.topic.subject), registry)
        self.journals = settings.state_dir
        self.known = self.topic.register(0)
        self.bronze = []
        self.batches = 0

    def demux(self, **changes):
        return Demux(
            feed=self.topic.feed(**changes),
            context=self.context,
            journal=Journal(self.journals / "games-demux.json"),
            format=self.format,
            schemas=self.format,
            report=lambda _: None,
        )

    def stream(self, *values, **changes):
        """One batch of the live stream; offsets go on."""
        self.run(self.demux(**changes), *values)

    def run(self, demux, *values):
        start = len(self.bronze)
        self.bronze += values
        rows = bronze_batch(*self.bronze).slice(start)
        frame = self.spark.createDataFrame(pa.Table.from_batches([rows]))
        demux(Rows(frame), Batch("query", self.batches), no_position)
        self.batches += 1

    def rows(self, upto=None):
        """Bronze up to an offset, which is where the stream was when the rebuild began."""
        values = self.bronze[:upto]
        rows = self.spark.createDataFrame(pa.Table.from_batches([bronze_batch(*values)]))
        return Bronze(rows=rows, range=Range(ends={("t", 0): len(values)}))

    def redo(self, **changes):
        return Redo(
            session=self.spark,
            demux=self.demux(**changes),
            journal=ChangeJournal(
                LocalStore.at(self.journals),
                LakeUri.local(self.journals / "games-redo.json"),
                KAFKA,
            ),
        )

    def event(self, key="uno", **parts):
        return framed(self.known, key, **parts)

    def stored(self, table):
        return (
            DeltaTable(self.context.lake.root.as_path() / table.relative)
            .to_pyarrow_table()
            .to_pylist()
        )

    def offsets(self, *keys):
        found = [sorted(row["_offset"] for row in self.stored(silver_of(g))) for g in keys]
        return found[0] if len(keys) == 1 else found

    def refused(self):
        return {row["offset"]: row["reason"] for row in self.stored(QUARANTINE)}


@pytest.fixture
def lake(spark, settings, services):
    with open_lake(settings) as context:
        yield Lake(spark, settings, context, services)


def test_quarantined_rows_of_a_game_that_was_added_move_to_its_table_once(lake):
    lake.stream(lake.event("chess"), b"x", lake.event("uno"), lake.event("go"))
    before = {row["offset"]: row for row in lake.stored(QUARANTINE)}
    done = lake.redo(route=WITH_CHESS).requeue()
    assert (done.rows, done.removed) == ({"silver_chess_events": 1}, {"quarantine_games": 1})
    assert lake.offsets("chess", "uno") == [[0], [2]]
    # The others are left as they were, to the microsecond.
    assert {row["offset"]: row for row in lake.stored(QUARANTINE)} == {
        offset: before[offset] for offset in (1, 3)
    }
    again = lake.redo(route=WITH_CHESS).requeue()
    assert (again.rows, again.removed) == ({}, {})
    assert lake.offsets("chess") == [0]


def test_only_rows_of_the_games_that_are_asked_for_move(lake):
    both = Route(column="game_name", keys=("uno", "go_fish", "chess", "go"))
    lake.stream(lake.event("chess"), lake.event("go"))
    lake.redo(route=both).requeue(["go"])
    assert lake.offsets("go") == [1]
    assert lake.refused() == {0: "unknown_key"}


def test_a_row_that_an_expectation_still_refuses_or_drops_stays(lake):
    lake.stream(lake.event(gamer=""), expectations=(gamer_is_known(Action.QUARANTINE),))
    for action in (Action.QUARANTINE, Action.DROP):
        lake.redo(expectations=(gamer_is_known(action),)).requeue()
        assert lake.refused() == {0: "expectation"}
    lake.redo(expectations=()).requeue()
    assert (lake.refused(), lake.offsets("uno")) == ({}, [0])


def test_an_expectation_that_fails_moves_nothing(lake):
    lake.stream(lake.event(gamer=""), expectations=(gamer_is_known(Action.QUARANTINE),))
    with pytest.raises(ExpectationFailedError, match="1 of 1 rows"):
        lake.redo(expectations=(gamer_is_known(Action.FAIL),)).requeue()
    assert (lake.refused(), lake.offsets("uno")) == ({0: "expectation"}, [])


def test_an_empty_quarantine_has_nothing_to_move(lake):
    lake.stream(lake.event())
    assert lake.redo().requeue().rows == {}


def test_a_rebuild_brings_dropped_rows_back_and_keeps_what_the_stream_added_meanwhile(lake):
    drop = (gamer_is_known(Action.DROP),)
    lake.stream(lake.event(), lake.event(gamer=""), b"x", expectations=drop)
    lake.stream(lake.event("go_fish", gamer=""), lake.event(), expectations=drop)
    upto = len(lake.bronze)
    lake.stream(lake.event(), b"y", expectations=drop)
    done = lake.redo(expectations=()).rebuild(lake.rows(upto))
    assert lake.offsets("uno", "go_fish") == [[0, 1, 4, 5], [3]]
    assert lake.refused() == {2: "not_framed", 6: "not_framed"}
    assert done.rows == {
        "silver_uno_events": 3,
        "silver_go_fish_events": 1,
        "quarantine_games": 1,
    }
    assert done.removed == {"silver_uno_events": 2, "quarantine_games": 1}


def test_a_rebuild_is_one_commit_a_table(lake):
    lake.stream(lake.event())
    handle = DeltaTable(lake.context.lake.root.as_path() / silver_of("uno").relative)
    lake.redo().rebuild(lake.rows())
    handle_after = DeltaTable(lake.context.lake.root.as_path() / silver_of("uno").relative)
    assert handle_after.version() == handle.version() + 1


def test_a_rebuild_of_one_game_leaves_the_others_and_moves_what_enters_and_leaves(lake):
    lake.stream(lake.event("chess"), lake.event(gamer=""), lake.event("go_fish", gamer=""))
    assert lake.offsets("uno", "go_fish") == [[], []]  # both dropped
    keep = (gamer_is_known(Action.QUARANTINE),)
    lake.redo(route=WITH_CHESS, expectations=keep).rebuild(lake.rows(), ["uno"])
    assert lake.refused() == {0: "unknown_key", 1: "expectation"}
    lake.redo(route=WITH_CHESS, expectations=()).rebuild(lake.rows(), ["chess"])
    assert (lake.refused(), lake.offsets("chess")) == ({1: "expectation"}, [0])
    lake.redo(route=WITH_CHESS, expectations=()).rebuild(lake.rows(), ["uno"])
    assert (lake.refused(), lake.offsets("uno", "go_fish")) == ({}, [[1], []])


def test_rows_that_are_another_games_by_now_go_there(lake):
    lake.stream(lake.event("uno", device="go_fish"), lake.event("uno", device="uno"))
    lake.stream(lake.event("uno", device="nobody"))
    lake.redo(route=BY_DEVICE).rebuild(lake.rows(), ["uno"])
    assert lake.offsets("uno", "go_fish") == [[1], [0]]
    assert lake.refused() == {2: "unknown_key"}


def test_a_rebuild_since_leaves_what_is_older_even_within_a_file(lake):
    drop = (gamer_is_known(Action.DROP),)
    values = [lake.event(gamer=""), lake.event(), lake.event(gamer=""), lake.event(), b"x"]
    lake.stream(*values, expectations=drop)
    bronze = lake.rows()
    since = Range(starts={("t", 0): 2}, ends=bronze.range.ends)
    given = Bronze(rows=bronze.rows.where("offset >= 2"), range=since)
    done = lake.redo(expectations=()).rebuild(given)
    assert lake.offsets("uno") == [1, 2, 3]
    assert lake.refused() == {4: "not_framed"}
    assert done.removed == {"silver_uno_events": 1, "quarantine_games": 1}


def test_a_rebuild_widens_the_tables_for_a_late_schema(lake):
    late = framed(NOBODYS, version=1)
    lake.stream(lake.event(), late)
    assert lake.refused() == {1: "unknown_schema"}
    new = lake.topic.register(1)
    lake.bronze[1] = framed(new, version=1)
    lake.redo().rebuild(lake.rows())
    assert Counter(row["col_custom_1"] for row in lake.stored(silver_of("uno"))) == {
        None: 1,
        "custom 1": 1,
    }


def let_wait(demux):
    """The same demux, whose registry does not answer for new ids."""
    return replace(demux, schemas=Waiting(demux.format))


@dataclass
class Waiting:
    """What lets all rows wait whose ids were never met."""

    format: ProtobufFormat

    def newest(self):
        return self.format.newest()

    def resolve(self, schemas, questions):
        return self.format.let_wait(schemas, questions)


def test_rows_of_new_schemas_wait_while_the_registry_is_down_and_others_go_on(lake):
    demux = lake.demux()
    lake.run(demux, lake.event())
    new = lake.topic.register(1)
    lake.run(let_wait(demux), lake.event(), framed(new, version=1), b"x", framed(NOBODYS))
    assert (lake.offsets("uno"), lake.refused()) == ([0, 1], {3: "not_framed"})
    assert sorted(row["offset"] for row in lake.stored(WAITING)) == [2, 4]
    again = lake.redo()
    assert again.catch_up().removed == {"bronze_games_waiting": 2}
    assert (lake.offsets("uno"), lake.stored(WAITING)) == ([0, 1, 2], [])
    assert lake.refused() == {3: "not_framed", 4: "unknown_schema"}
    assert again.journal.read() is None


def test_rows_go_on_waiting_while_the_registry_does_not_answer(lake):
    lake.run(let_wait(lake.demux()), lake.event(), framed(NOBODYS))
    redo = lake.redo()
    replace(redo, demux=let_wait(redo.demux)).catch_up()
    assert [row["offset"] for row in lake.stored(WAITING)] == [1]
    assert lake.refused() == {}


@pytest.mark.parametrize("keys", [None, ["uno"]])
def test_a_rebuild_takes_the_waiting_rows_along(lake, keys):
    demux = lake.demux()
    lake.run(demux, lake.event())
    new = lake.topic.register(1)
    lake.run(let_wait(demux), framed(new, version=1))
    lake.redo().rebuild(lake.rows(), keys)
    assert (lake.offsets("uno"), lake.stored(WAITING)) == ([0, 1], [])


class Dying(Committer):
    """A committer whose process dies after its first commits of rows."""

    def append(self, commits, batch):
        done = super().append(commits, batch)
        if commits[0].table != SCHEMA_LOG:
            raise KeyboardInterrupt
        return done


def dying(redo, kind=Dying):
    """The same through a committer that is `kind`."""
    context = redo.demux.context
    committer = kind(context.committer.store, threads=1)
    return replace(redo, demux=replace(redo.demux, context=replace(context, committer=committer)))


def compact(lake, key):
    DeltaTable(lake.context.lake.root.as_path() / silver_of(key).relative).optimize.compact()


def test_a_move_that_dies_between_two_commits_is_finished_from_its_journal(lake):
    lake.stream(lake.event("chess"), lake.event("chess"), b"x")
    redo = dying(lake.redo(route=WITH_CHESS))
    with suppress(KeyboardInterrupt):
        redo.requeue()
    assert (sorted(lake.refused()), lake.offsets("chess")) == ([0, 1, 2], [0, 1])
    for _ in range(2):
        finish(redo.journal, lake.context.committer)
        assert (lake.refused(), lake.offsets("chess")) == ({2: "not_framed"}, [0, 1])
    assert redo.journal.read() is None


def test_a_rebuild_that_dies_is_finished_though_others_compact_and_append_meanwhile(lake):
    swapped = BY_DEVICE
    lake.stream(lake.event("uno", device="go_fish"), lake.event("uno", device="uno"))
    lake.stream(lake.event("go_fish", device="uno"))
    redo = dying(lake.redo(route=swapped))
    with suppress(KeyboardInterrupt):
        redo.rebuild(lake.rows())
    lake.stream(lake.event("uno", device="uno"), lake.event("go_fish", device="go_fish"))
    for key in ("uno", "go_fish"):
        compact(lake, key)
    finish(redo.journal, lake.context.committer)
    assert lake.offsets("uno", "go_fish") == [[1, 2, 3], [0, 4]]


def test_rows_that_come_and_are_compacted_during_a_rebuild_stay(lake):
    lake.stream(lake.event(), lake.event())
    bronze = lake.rows()
    lake.stream(lake.event())
    compact(lake, "uno")
    lake.redo().rebuild(bronze)
    assert lake.offsets("uno") == [0, 1, 2]


def test_a_compaction_between_the_look_and_the_commit_is_noticed(lake):
    class Overtaken(Committer):
        """Another process compacts the table just before its commit, once."""

        is_done = False

        def append(self, commits, batch):
            if commits[0].table == silver_of("uno") and not self.is_done:
                self.is_done = True
                compact(lake, "uno")
            return super().append(commits, batch)

    for _ in range(3):
        lake.stream(lake.event())
    dying(lake.redo(), Overtaken).rebuild(lake.rows())
    assert lake.offsets("uno") == [0, 1, 2]


def test_rows_that_another_process_removes_meanwhile_are_moved_once(lake):
    class Overtaken(Committer):
        """Another process empties the quarantine just before each commit."""

        def append(self, commits, batch):
            DeltaTable(lake.context.lake.root.as_path() / QUARANTINE.relative).delete()
            return super().append(commits, batch)

    lake.stream(lake.event("chess"))
    dying(lake.redo(route=WITH_CHESS), Overtaken).requeue()
    assert (lake.offsets("chess"), lake.refused()) == ([0], {})


def test_a_change_has_a_number_that_no_table_has_whatever_clock_gave_the_last(lake):
    lake.stream(lake.event("chess"), b"x")
    far = Batch(reprocess_app("games"), 2**60)
    lake.context.committer.append_marked(Commit(table=QUARANTINE, files=()), [far])
    done = lake.redo(route=WITH_CHESS).requeue()
    assert (done.number, lake.offsets("chess")) == (2**60 + 1, [0])


def test_a_change_of_which_nothing_happened_and_whose_files_are_gone_is_forgotten(lake):
    lake.stream(lake.event("chess"))
    redo = dying(lake.redo(route=WITH_CHESS))
    with suppress(KeyboardInterrupt):
        dying(redo, DeadAtOnce).requeue()
    for path in (lake.context.lake.root.as_path() / silver_of("chess").relative).glob("*.parquet"):
        path.unlink()
    assert finish(redo.journal, lake.context.committer) == {}
    assert (lake.refused(), redo.journal.read()) == ({0: "unknown_key"}, None)


class DeadAtOnce(Committer):
    """A committer whose process dies before its first commit of rows."""

    def append(self, commits, batch):
        if commits[0].table != SCHEMA_LOG:
            raise KeyboardInterrupt
        return super().append(commits, batch)


def test_half_a_change_whose_files_are_gone_says_how_to_mend_silver(lake):
    lake.stream(lake.event("chess"), lake.event("go"))
    both = Route(column="game_name", keys=("uno", "go_fish", "chess", "go"))
    redo = dying(lake.redo(route=both))
    with suppress(KeyboardInterrupt):
        redo.requeue()
    for path in (lake.context.lake.root.as_path() / silver_of("go").relative).glob("*.parquet"):
        path.unlink()
    with pytest.raises(LakeError, match="rebuild silver"):
        finish(redo.journal, lake.context.committer)
    assert redo.journal.read() is not None
