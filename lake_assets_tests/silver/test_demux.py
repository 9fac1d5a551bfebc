import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.commit import Batch
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.table_owners import owner_of
from lake_assets.errors import (
    CommitConflictError,
    ExpectationFailedError,
    FeedError,
    RegistryError,
    TableOwnedError,
)
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.questions import SchemaIdQuestion
from lake_assets.logs.schema_log import entries_of
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.origins import Origin
from lake_assets.model.owners import Owner
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.reports import Judged, Stage
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.schema_history import Reason, Why
from lake_assets.model.tables import Layer, quarantine_of
from lake_assets.silver.demux import Demux
from lake_assets.simulator.games.schema import custom_column
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.storage.local import LocalStore
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.formats.protobuf.given import framed as frame
from lake_assets_tests.formats.protobuf.given import message_of
from lake_assets_tests.sample import RENAMED, silver_of
from lake_assets_tests.silver.given import bronze_batch, no_position

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

FIRST = Batch("query", 0)

CREATE = Route(column="game_name", keys=("uno",), unknown=Unknown.CREATE)

NOT_THERE = 2**31 - 1
"""A schema id that no registry gives."""


@pytest.fixture
def topic(services):
    return Topic(services)


class Asked:
    """A real registry that notes which ids it was asked for."""

    def __init__(self, url, subject):
        self.ids = []
        registry = Registry(url, PROTOBUF)
        self.format = ProtobufFormat(ProtobufPayload(subject=subject), registry)

    def newest(self):
        return self.format.newest()

    def resolve(self, schemas, questions):
        ids = {one.schema_id for one in questions if isinstance(one, SchemaIdQuestion)}
        self.ids += [ids] if ids else []
        return self.format.resolve(schemas, questions)


@pytest.fixture
def asked(services, topic):
    return Asked(services.registry, topic.subject)


@pytest.fixture
def reports():
    return []


@pytest.fixture
def make(settings, topic, asked, reports):
    """Makes a demux as a fresh process would, over the same lake and journal."""
    with ExitStack() as stack:
        context = stack.enter_context(open_lake(settings))

        def build(**changes):
            return Demux(
                feed=topic.feed(**changes),
                context=context,
                journal=Journal(settings.state_dir / "games-demux.json"),
                format=asked.format,
                schemas=asked,
                report=reports.append,
            )

        yield build


@pytest.fixture
def bronze(spark):
    def rows(*values):
        return Rows(spark.createDataFrame(pa.Table.from_batches([bronze_batch(*values)])))

    return rows


@pytest.fixture
def stored(settings):
    def read(table):
        return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()

    return read


def offsets(rows):
    return sorted(row.get("_offset", row.get("offset")) for row in rows)


def test_a_batch_is_split_by_game(make, topic, bronze, stored):
    known = topic.register(0)
    make()(
        bronze(framed(known, "uno"), framed(known, "go_fish"), framed(known, "uno")),
        FIRST,
        no_position,
    )
    assert offsets(stored(silver_of("uno"))) == [0, 2]
    assert offsets(stored(silver_of("go_fish"))) == [1]
    assert stored(quarantine_of("games")) == []


def test_a_declared_game_that_another_feed_has_is_told_with_both_feeds(make, topic, spark, stored):
    topic.register(0)
    make().prepare(spark)
    whose = "is the table of key 'uno' of feed 'games', not of key 'uno' of feed 'takes_uno'"
    with pytest.raises(TableOwnedError, match=f"silver_uno_events: {whose}"):
        make(feed="takes_uno").prepare(spark)
    assert stored(silver_of("uno")) == []


def test_tables_record_whose_they_are_and_old_ones_get_the_record(make, topic, spark, settings):
    topic.register(0)
    lake = settings.lake_dir
    for key in ("uno", "chess"):
        write_deltalake(lake / silver_of(key).relative, pa.table({"game_name": [key]}))
    make(route=CREATE).prepare(spark)
    for key in ("uno", "chess"):
        assert owner_of(LocalStore.at(lake), silver_of(key)) == Owner(feed="games", key=key)
    assert owner_of(LocalStore.at(lake), quarantine_of("games")) == Owner(feed="games")


def test_a_game_without_rows_has_a_table_and_no_commit(make, topic, bronze, settings):
    make()(bronze(framed(topic.register(0), "uno")), FIRST, no_position)
    assert DeltaTable(settings.lake_dir / silver_of("go_fish").relative).version() == 0


def test_a_schema_registered_mid_stream_widens_the_tables(make, topic, bronze, stored, asked):
    old = topic.register(0)
    demux = make()
    demux(bronze(framed(old)), FIRST, no_position)
    new = topic.register(1)
    demux(bronze(framed(old), framed(new, version=1)), Batch("query", 1), no_position)
    assert asked.ids == [{new}]
    found = Counter(row["col_custom_1"] for row in stored(silver_of("uno")))
    assert found == {None: 2, "custom 1": 1}


def test_the_history_tells_which_version_brought_a_column(make, topic, bronze, settings):
    first, demux = topic.register(0), make()
    demux(bronze(framed(first)), FIRST, no_position)
    second = topic.register(1)
    demux(bronze(framed(second, version=1)), Batch("query", 1), no_position)
    kept = entries_of(LocalStore.at(settings.lake_dir), "games")
    versions = [entry.reason for entry in kept if entry.column is None]
    told = [
        Reason(Why.REGISTRY, 1, first, topic.subject),
        Reason(Why.REGISTRY, 2, second, topic.subject),
    ]
    assert versions == told
    assert all(entry.schema for entry in kept if entry.column is None)
    of_uno = {entry.column: entry for entry in kept if entry.key == "uno"}
    assert [of_uno[name].reason for name in ("gamer_id", custom_column(1))] == told
    assert {entry.key for entry in kept if entry.column == "gamer_id"} == {*topic.feed().keys}
    demux.forget()
    demux(bronze(framed(second, version=1)), Batch("query", 2), no_position)
    assert entries_of(LocalStore.at(settings.lake_dir), "games") == kept


def test_a_batch_that_ran_twice_for_an_answer_is_committed_once(make, topic, bronze, settings):
    old = topic.register(0)
    demux = make()
    demux(bronze(framed(old)), FIRST, no_position)
    new = topic.register(1)
    demux(bronze(framed(old), framed(new, version=1)), Batch("query", 1), no_position)
    silver = DeltaTable(settings.lake_dir / silver_of("uno").relative)
    # Created, the first batch, a column, the second batch.
    assert (silver.version(), silver.to_pyarrow_table().num_rows) == (3, 3)


def test_a_batch_that_ran_twice_leaves_no_file_that_is_not_committed(make, topic, bronze, settings):
    old = topic.register(0)
    demux = make()
    demux(bronze(framed(old)), FIRST, no_position)
    demux(bronze(framed(old), framed(topic.register(1), version=1)), Batch("query", 1), no_position)
    silver = DeltaTable(settings.lake_dir / silver_of("uno").relative)
    files = {
        path.name for path in (settings.lake_dir / silver_of("uno").relative).glob("*.parquet")
    }
    assert files == {uri.rsplit("/", 1)[1] for uri in silver.file_uris()}


def test_an_id_the_registry_does_not_know_is_quarantined(make, topic, bronze, stored):
    known = topic.register(0)
    make()(bronze(framed(NOT_THERE), framed(known)), FIRST, no_position)
    (row,) = stored(quarantine_of("games"))
    assert (row["reason"], row["detail"]) == ("unknown_schema", f"schema id {NOT_THERE}")
    assert (row["value"], row["offset"]) == (framed(NOT_THERE), 0)
    assert offsets(stored(silver_of("uno"))) == [1]


def test_an_id_that_has_an_answer_is_not_asked_about_again(make, topic, bronze, asked):
    topic.register(0)
    demux = make()
    demux(bronze(framed(NOT_THERE)), FIRST, no_position)
    demux(bronze(framed(NOT_THERE)), Batch("query", 1), no_position)
    assert asked.ids == [{NOT_THERE}]


def test_a_registry_that_is_down_quarantines_nothing(make, topic, bronze, stored):
    known = topic.register(0)
    silent = Registry("http://127.0.0.1:1", PROTOBUF)
    demux = make()
    demux(bronze(framed(known)), FIRST, no_position)
    deaf = replace(demux, schemas=ProtobufFormat(topic.feed().payload.protobuf, silent))
    with pytest.raises(RegistryError):
        deaf(bronze(framed(known), framed(NOT_THERE)), Batch("query", 1), no_position)
    assert offsets(stored(silver_of("uno"))) == [0]
    assert stored(quarantine_of("games")) == []


def test_bad_messages_leave_their_neighbours_unharmed(make, topic, bronze, stored):
    known = topic.register(0)
    good = framed(known)
    make()(
        bronze(good, None, b"no framing", good[:12], good, framed(known, "../x")),
        FIRST,
        no_position,
    )
    assert offsets(stored(silver_of("uno"))) == [0, 4]
    assert {row["offset"]: row["reason"] for row in stored(quarantine_of("games"))} == {
        1: "empty_value",
        2: "not_framed",
        3: "undecodable",
        5: "bad_key_name",
    }


def test_an_unknown_key_is_quarantined_and_never_dropped(make, topic, bronze, stored, reports):
    known = topic.register(0)
    make()(bronze(framed(known, "chess", gamer="")), FIRST, no_position)
    (row,) = stored(quarantine_of("games"))
    assert row["reason"] == "unknown_key"
    assert reports[0].dropped == {}


def test_a_dropped_row_is_counted_and_in_no_table(make, topic, bronze, stored, reports):
    known = topic.register(0)
    make()(
        bronze(framed(known, gamer=""), framed(known), framed(known, device="")), FIRST, no_position
    )
    assert offsets(stored(silver_of("uno"))) == [1, 2]
    assert stored(quarantine_of("games")) == []
    assert reports[0].dropped == {"uno": 1}


def test_what_an_expectation_cannot_compute_is_violated_and_stops_nothing(
    make, topic, bronze, stored
):
    numeric = Expectation(name="device_is_numeric", sql="int(device_id) > 0", action=Action.DROP)
    known = topic.register(0)
    make(expectations=(numeric,))(
        bronze(framed(known, device="d"), framed(known, device="7")), FIRST, no_position
    )
    assert offsets(stored(silver_of("uno"))) == [1]


def test_a_batch_is_reported_by_game_and_expectation(make, topic, bronze, reports):
    known = topic.register(0)
    make()(
        bronze(framed(known, gamer=""), framed(known), framed(known, device="")), FIRST, no_position
    )
    (report,) = reports
    assert (report.feed, report.stage, report.batch_id) == ("games", Stage.DEMUX, 0)
    assert report.rows == {"silver_uno_events": 2}
    assert report.judged == {
        ("uno", "gamer_is_known"): Judged(seen=3, violated=1, examples=(Origin("t", 0, 0),)),
        ("uno", "device_is_known"): Judged(seen=3, violated=1, examples=(Origin("t", 0, 2),)),
    }


def test_a_game_whose_rows_are_all_dropped_is_reported(make, topic, bronze, reports):
    make()(bronze(framed(topic.register(0), gamer="")), FIRST, no_position)
    assert (reports[0].dropped, reports[0].rows) == ({"uno": 1}, {})


def gamer_is_known(action, **scope):
    return Expectation(name="gamer_is_known", **{"sql": HERE, "action": action, **scope})


HERE, IN_SPARK = "gamer_id <> ''", "length(trim(gamer_id)) > 0"
"""The same condition, which the tasks that decode can judge, and which only Spark can."""


@pytest.mark.parametrize("sql", [HERE, IN_SPARK])
def test_a_row_that_an_expectation_quarantines_is_kept_whole(
    make, topic, bronze, stored, reports, sql
):
    known = topic.register(0)
    make(expectations=(gamer_is_known(Action.QUARANTINE, sql=sql),))(
        bronze(framed(known), framed(known, gamer=""), b"x"), FIRST, no_position
    )
    assert offsets(stored(silver_of("uno"))) == [0]
    refused = {row["offset"]: row for row in stored(quarantine_of("games"))}
    assert (refused[1]["reason"], refused[1]["detail"]) == ("expectation", "gamer_is_known")
    assert refused[1]["value"] == framed(known, gamer="")
    assert refused[2]["reason"] == "not_framed"
    assert reports[0].dropped == {"uno": 0}


def test_a_row_that_fails_stops_its_whole_batch(make, topic, bronze, stored, reports, settings):
    known = topic.register(0)
    rows = bronze(framed(known), *[framed(known, "go_fish", gamer="")] * 5)
    failing = make(expectations=(gamer_is_known(Action.FAIL),))
    found = r"'gamer_is_known' of key 'go_fish': 5 of 5 rows .* such as t/0/1, t/0/2, t/0/3\."
    with pytest.raises(ExpectationFailedError, match=found):
        failing(rows, FIRST, no_position)
    assert stored(silver_of("uno")) == []
    assert list((settings.lake_dir / silver_of("uno").relative).glob("*.parquet")) == []
    (report,) = reports
    assert (report.rows, report.is_committed) == ({}, False)
    assert report.judged[("go_fish", "gamer_is_known")].violated == 5
    # The rule is repaired; nothing was lost, nothing is there twice.
    make(expectations=())(rows, FIRST, no_position)
    assert offsets(stored(silver_of("uno"))) == [0]
    assert offsets(stored(silver_of("go_fish"))) == [1, 2, 3, 4, 5]


def test_values_that_only_spark_can_judge_are_judged_by_it(make, topic, bronze, stored, reports):
    known = topic.register(0)
    is_small = Expectation(name="is_small", sql="gamer_id = lower(gamer_id)", action=Action.DROP)
    demux = make(expectations=(is_small,))
    demux(bronze(framed(known), framed(known, gamer="Ann")), FIRST, no_position)
    # Java's lower case of this letter has two characters.
    demux(
        bronze(framed(known, gamer="İ"), framed(known, gamer="é")), Batch("query", 1), no_position
    )
    demux(
        bronze(framed(known, gamer="É"), framed(known, gamer="bob")), Batch("query", 2), no_position
    )
    assert sorted(row["gamer_id"] for row in stored(silver_of("uno"))) == ["ann", "bob", "é"]
    assert [report.dropped for report in reports] == [{"uno": 1}] * 3


def test_an_expectation_that_asks_for_the_time_asks_in_each_batch(make, topic, bronze, reports):
    known = topic.register(0)
    past = Expectation(name="past", sql="event_timestamp < now()", action=Action.DROP)
    demux = make(expectations=(past,))
    demux(bronze(framed(known, at=datetime.now(UTC) + timedelta(days=1))), FIRST, no_position)
    # After what the first batch took for now, and before the second's.
    demux(bronze(framed(known, at=datetime.now(UTC))), Batch("query", 1), no_position)
    assert [report.dropped["uno"] for report in reports] == [1, 0]


def test_an_expectation_judges_the_games_that_it_names(make, topic, bronze, stored, reports):
    known = topic.register(0)
    make(expectations=(gamer_is_known(Action.DROP, keys=("go_fish",)),))(
        bronze(framed(known, "uno", gamer=""), framed(known, "go_fish", gamer="")),
        FIRST,
        no_position,
    )
    assert offsets(stored(silver_of("uno"))) == [0]
    assert stored(silver_of("go_fish")) == []
    assert set(reports[0].judged) == {("go_fish", "gamer_is_known")}


def test_an_expectation_over_a_column_of_tomorrow_is_refused_today(make, topic, bronze, stored):
    early = Expectation(name="custom", sql="col_custom_1 is not null")
    topic.register(0)
    with pytest.raises(FeedError, match="columns are game_name, gamer_id, event_timestamp"):
        make(expectations=(early,))(bronze(framed(topic.register(0))), FIRST, no_position)
    assert stored(silver_of("uno")) == []


def test_an_expectation_may_need_no_column(make, topic, bronze, stored):
    never = Expectation(name="never", sql="false", action=Action.DROP)
    make(expectations=(never,))(bronze(framed(topic.register(0))), FIRST, no_position)
    assert stored(silver_of("uno")) == []


def test_a_feed_without_expectations_keeps_all(make, topic, bronze, stored, reports):
    make(expectations=())(bronze(framed(topic.register(0), gamer="")), FIRST, no_position)
    assert offsets(stored(silver_of("uno"))) == [0]
    assert (reports[0].dropped, reports[0].judged) == ({"uno": 0}, {})


def test_a_route_that_creates_gives_a_new_game_its_table(make, topic, bronze, stored):
    known = topic.register(0)
    rows = bronze(framed(known, "chess"), framed(known, "uno"), framed(known, "Bad"))
    make(route=CREATE)(rows, FIRST, no_position)
    assert offsets(stored(silver_of("chess"))) == [0]
    assert offsets(stored(silver_of("uno"))) == [1]
    assert [row["reason"] for row in stored(quarantine_of("games"))] == ["bad_key_name"]


def test_a_game_that_was_created_raises_no_question_after_a_start(
    make, topic, bronze, spark, monkeypatch
):
    known = topic.register(0)
    make(route=CREATE)(bronze(framed(known, "chess")), FIRST, no_position)

    def ask(_, asked):
        pytest.fail(f"asked {asked}")

    monkeypatch.setattr(Demux, "_answer", ask)
    prepared, unprepared = make(route=CREATE), make(route=CREATE)
    prepared.prepare(spark)
    for number, demux in enumerate((prepared, unprepared), 1):
        demux(bronze(framed(known, "chess")), Batch("query", number), no_position)


def test_a_new_game_and_a_new_schema_in_one_batch_are_both_found(make, topic, bronze, stored):
    old = topic.register(0)
    demux = make(route=CREATE)
    demux(bronze(framed(old)), FIRST, no_position)
    new = topic.register(1)
    rows = bronze(framed(new, "chess", version=1), framed(NOT_THERE), framed(old, "go"))
    demux(rows, Batch("query", 1), no_position)
    assert [row["col_custom_1"] for row in stored(silver_of("chess"))] == ["custom 1"]
    assert offsets(stored(silver_of("go"))) == [2]
    assert offsets(stored(quarantine_of("games"))) == [1]


def test_a_route_that_quarantines_makes_no_table(make, topic, bronze, settings):
    make()(bronze(framed(topic.register(0), "chess")), FIRST, no_position)
    folders = {path.name for path in (settings.lake_dir / Layer.SILVER).iterdir()}
    assert folders == {"silver_uno_events", "silver_go_fish_events"}


def test_a_batch_that_a_table_has_already_is_somebody_elses(make, topic, bronze, stored):
    known = topic.register(0)
    demux = make()
    demux(bronze(framed(known)), FIRST, no_position)
    with pytest.raises(CommitConflictError, match="it has batch 0 already"):
        demux(bronze(framed(known)), FIRST, no_position)
    assert offsets(stored(silver_of("uno"))) == [0]


EVENT = "message event {{ string game_name = 1; {} }} message N {{ int32 x = 1; {} }}"
NARROW = EVENT.format("int32 level = 2; N n = 3; string note = 4;", "")
WIDE = EVENT.format("int64 level = 2; N n = 3; string note = 4;", "optional string y = 2;")
OTHER = EVENT.format("string level = 2;", "")
SHORT = EVENT.format("int32 level = 2; N n = 3;", "")


def event(schema_id, body, **values):
    return frame(schema_id, message_of(body, game_name="uno", **values))


@pytest.fixture
def evolve(make, topic, bronze):
    """A demux that took a batch of a first version, and what it takes to give it another."""

    def build(old, new, **values):
        feed = {"expectations": (), "route": Route(column="game_name", keys=("uno",))}
        demux = make(**feed)
        first = topic.register_text(old)
        demux(bronze(event(first, old, **values)), FIRST, no_position)
        second = topic.register_text(new)

        def give(*rows, restarted=False):
            (make(**feed) if restarted else demux)(bronze(*rows), Batch("query", 1), no_position)

        return first, second, give

    return build


def test_a_type_that_widens_widens_the_tables(evolve, stored, settings):
    old, new, give = evolve(NARROW, WIDE, level=-1)
    give(event(old, NARROW, level=-2, n={"x": 1}), event(new, WIDE, level=2**40, n={"y": "y"}))
    found = {row["level"]: row["n"] for row in stored(silver_of("uno"))}
    assert found == {-1: None, -2: {"x": 1, "y": None}, 2**40: {"x": 0, "y": "y"}}
    assert stored(quarantine_of("games")) == []
    kinds = DeltaTable(settings.lake_dir / silver_of("uno").relative).schema().fields
    assert {f.name: f.type.type for f in kinds if f.name == "level"} == {"level": "long"}


@pytest.mark.parametrize("restarted", [False, True])
def test_a_type_that_cannot_widen_is_quarantined_alone(evolve, stored, restarted):
    old, new, give = evolve(NARROW, OTHER, level=1)
    rows = (event(new, OTHER, level="high"), event(old, NARROW, level=2))
    give(*rows, restarted=restarted)
    assert sorted(row["level"] for row in stored(silver_of("uno"))) == [1, 2]
    (refused,) = stored(quarantine_of("games"))
    said = "field level is string in version 2, and the column is int"
    assert (refused["reason"], refused["detail"]) == ("incompatible_schema", said)
    assert refused["value"] == rows[0]


@pytest.mark.parametrize("restarted", [False, True])
def test_the_column_of_a_removed_field_stays(evolve, stored, restarted):
    old, new, give = evolve(NARROW, SHORT, note="a")
    give(event(new, SHORT), event(old, NARROW, note="b"), restarted=restarted)
    notes = [row["note"] for row in stored(silver_of("uno"))]
    assert sorted(notes, key=str) == [None, "a", "b"]


def test_a_schemas_other_messages_are_asked_about_here_alone(evolve, stored, asked):
    more = f"{NARROW} message other {{ string game_name = 1; bool b = 2; }}"
    _, new, give = evolve(NARROW, more, level=1)
    give(frame(new, message_of(more, "other", game_name="uno", b=True), b"\2\4"))
    assert {(row["level"], row["b"]) for row in stored(silver_of("uno"))} == {
        (1, None),
        (None, True),
    }
    assert asked.ids == [{new}]


def test_a_version_that_cannot_be_used_is_quarantined_alone(evolve, stored):
    old, new, give = evolve(NARROW, EVENT.format("string _topic = 2;", ""), level=1)
    give(b"\0" + new.to_bytes(4, "big") + b"\0", event(old, NARROW, level=2))
    assert sorted(row["level"] for row in stored(silver_of("uno"))) == [1, 2]
    assert "field _topic has the name" in stored(quarantine_of("games"))[0]["detail"]


def test_an_expectation_is_refused_before_the_first_row(make, topic, spark, stored):
    topic.register(0)
    early = Expectation(name="custom", sql="col_custom_1 is not null")
    with pytest.raises(FeedError, match="columns are game_name, gamer_id, event_timestamp"):
        make(expectations=(early,)).prepare(spark)
    make().prepare(spark)
    assert stored(silver_of("go_fish")) == []


def test_large_messages_go_with_small_ones(make, topic, bronze, stored):
    known = topic.register(0)
    large = framed(known, "uno", gamer="x" * 10_000_000)
    make()(bronze(framed(known), large, framed(known), large, large[:-1]), FIRST, no_position)
    assert sorted(len(row["gamer_id"]) for row in stored(silver_of("uno"))) == [
        3,
        3,
        10_000_000,
        10_000_000,
    ]
    (refused,) = stored(quarantine_of("games"))
    assert (refused["reason"], len(refused["value"])) == ("undecodable", len(large) - 1)


def test_random_bytes_among_many_events_are_refused_alone(make, topic, bronze, stored):
    known = topic.register(0)
    noise = random.Random(7)  # noqa: S311 - the same noise each time
    good, head = framed(known), framed(known)[:6]
    values = [
        head + noise.randbytes(noise.randrange(1, 60)) if i % 100 == 0 else good
        for i in range(20_000)
    ]
    make(expectations=())(bronze(*values), FIRST, no_position)
    kept, refused = offsets(stored(silver_of("uno"))), offsets(stored(quarantine_of("games")))
    assert sorted([*kept, *refused]) == list(range(20_000))
    assert set(range(20_000)) - set(range(0, 20_000, 100)) <= set(kept)
    assert len(refused) > 150


def test_rows_that_all_violate_everything_are_all_kept_in_quarantine(make, topic, bronze, stored):
    known = topic.register(0)
    rules = tuple(
        Expectation(name=f"never_{i}", sql="false", action=action)
        for i, action in enumerate((Action.WARN, Action.DROP, Action.QUARANTINE) * 3)
    )
    make(expectations=rules)(bronze(*[framed(known)] * 200_000), FIRST, no_position)
    assert stored(silver_of("uno")) == []
    refused = make().context.committer.fresh(quarantine_of("games")).to_pyarrow_table()
    assert refused.num_rows == 200_000
    assert refused["detail"].unique().to_pylist() == ["never_2, never_5, never_8"]


TWO_TYPES = (
    "message move { string game_name = 1; int32 x = 2; } "
    "message chat { string game_name = 1; string text = 2; }"
)


def test_an_expectation_may_read_what_no_row_has_used_yet(make, topic, bronze, stored, spark):
    schema_id = topic.register_text(TWO_TYPES)
    rules = [("is_talk", "text <> ''"), ("is_far", "x > 0 or text is not null")]
    demux = make(
        expectations=tuple(
            Expectation(name=name, sql=sql, action=Action.DROP, keys=(key,))
            for (name, sql), key in zip(rules, ("go_fish", "uno"), strict=True)
        )
    )
    demux.prepare(spark)
    assert stored(silver_of("uno")) == []
    moves = [("uno", 0), ("uno", 1), ("go_fish", 0)]
    made = [message_of(TWO_TYPES, "move", game_name=key, x=x) for key, x in moves]
    demux(bronze(*(frame(schema_id, move) for move in made)), FIRST, no_position)
    (row,) = stored(silver_of("uno"))
    assert (row["x"], "text" in row, stored(silver_of("go_fish"))) == (1, False, [])
    chat = message_of(TWO_TYPES, "chat", game_name="go_fish", text="hi")
    demux(bronze(frame(schema_id, chat, b"\2\2")), Batch("query", 1), no_position)
    assert [row["text"] for row in stored(silver_of("go_fish"))] == ["hi"]


def test_an_expectation_that_fits_no_message_is_refused_before_the_first_row(make, topic, spark):
    topic.register_text(TWO_TYPES)
    with pytest.raises(FeedError, match="columns are game_name, x, text"):
        make(expectations=(Expectation(name="e", sql="nobody > 0"),)).prepare(spark)


def test_without_a_route_all_rows_go_to_the_table_of_the_feeds_name(
    make, topic, bronze, stored, settings, reports
):
    known = topic.register(0)
    expectations = (
        Expectation(name="not_ann", sql="gamer_id <> 'ann'", keys=("games",)),
        Expectation(name="of_others", sql="false", action=Action.DROP, keys=("uno",)),
    )
    values = [framed(known, key) for key in ("uno", "chess", "../x", "")]
    demux = make(route=None, expectations=expectations)
    demux(bronze(*values, b"bad", framed(known, gamer="bob")), FIRST, no_position)
    assert offsets(stored(silver_of("games"))) == [0, 1, 2, 3, 5]
    assert [row["reason"] for row in stored(quarantine_of("games"))] == ["not_framed"]
    assert owner_of(LocalStore.at(settings.lake_dir), silver_of("games")) == Owner(
        feed="games", key="games"
    )
    assert [path.name for path in (settings.lake_dir / "silver").iterdir()] == [
        "silver_games_events"
    ]
    (report,) = reports
    judged = {key: (found.seen, found.violated) for key, found in report.judged.items()}
    assert judged == {("games", "not_ann"): (5, 4)}


def test_without_a_route_messages_need_no_column_that_says_where_they_go(
    make, topic, bronze, stored
):
    body = "message click { string page = 1; int64 at_ms = 2; }"
    known = topic.register_text(body)
    demux = make(route=None, expectations=())
    demux(bronze(frame(known, message_of(body, "click", page="p"))), FIRST, no_position)
    (row,) = stored(silver_of("games"))
    assert (row["page"], row["_offset"]) == ("p", 0)


def test_two_feeds_of_one_key_each_write_their_own_table(make, topic, bronze, stored):
    known = topic.register(0)
    make()(bronze(framed(known, "uno")), FIRST, no_position)
    renamed = make(feed="renamed", tables=RENAMED.tables)
    renamed(bronze(b"bad", framed(known, "uno")), FIRST, no_position)
    assert offsets(stored(silver_of("uno"))) == [0]
    assert offsets(stored(RENAMED.silver_table("uno"))) == [1]
