"""A feed of JSON without a schema: columns come and get wider while its streams run."""

import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.widen import widen
from lake_assets.errors import PoisonedBatchError
from lake_assets.logs.schema_log import entries_of
from lake_assets.model.payload import Payload
from lake_assets.model.tables import quarantine_of
from lake_assets.services.control import locate
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.schema_history import SchemaHistory
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import Pipeline, demux_journal
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.schemas import format_with
from lake_assets.streams.skip_request import ask_to_skip
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.e2e.test_json_feed import PULSE, STRIDE, Tracker, tracker

__all__ = ["tracker"]

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

HINTS = "model string, kcal int"


@dataclass
class Inferring(Tracker):
    """A lake of a feed that infers."""

    def feed(self, **rules):
        payload = Payload.model_validate({"json": {"infer": True, "hints": HINTS, **rules}})
        return self.topic.feed(payload=payload, route=self.route, expectations=(), gold=())

    @contextmanager
    def streams(self, *, until_caught_up, **rules):
        feed = self.feed(**rules)
        endpoints = locate(self.settings, [feed])
        with open_lake(self.settings, self.spark) as context:
            yield FeedStreams(
                pipeline=self.pipeline(context, endpoints),
                settings=self.settings,
                feed=feed,
                until_caught_up=until_caught_up,
                announce=lambda _: None,
                stop=threading.Event(),
                goes_on=lambda: True,
            )

    def pipeline(self, context, endpoints):
        return Pipeline(
            session=self.spark,
            endpoints=endpoints,
            context=context,
            stream=self.settings.stream,
            state_dir=self.settings.state_dir,
            report=lambda _: None,
        )

    def send(self, *values):
        self.topic.produce(*(value.encode() for value in values))

    def caught_up(self, **rules):
        """Streams that begin, take all there is and end; why they ended, if not by themselves."""
        with self.streams(until_caught_up=True, **rules) as streams:
            streams.run()
        return streams.failure

    @contextmanager
    def running(self, **rules):
        with self.streams(until_caught_up=False, **rules) as streams:
            thread = threading.Thread(target=streams.run)
            thread.start()
            try:
                yield streams
            finally:
                streams.stop.set()
                thread.join()

    def redo(self, act, **rules):
        feed = self.feed(**rules)
        endpoints = locate(self.settings, [feed])
        with open_lake(self.settings, self.spark) as context:
            made = format_with(self.settings, endpoints, feed, self.spark)
            demux = Demux(
                feed=feed,
                context=context,
                journal=demux_journal(self.settings.state_dir, feed),
                format=made,
                schemas=made,
                report=lambda _: None,
                rounds=False,
            )
            return act(
                Redo(session=self.spark, demux=demux, journal=reprocess_journal(context.lake, feed))
            )

    def history(self, key):
        kept = entries_of(LocalStore.at(self.settings.lake_dir), "games")
        return [entry for entry in kept if entry.key == key]

    def types(self, table=PULSE):
        if not (self.settings.lake_dir / table.relative).exists():
            return {}
        fields = DeltaTable(self.settings.lake_dir / table.relative).schema().fields
        named = {field.name: str(field.type) for field in fields if not field.name.startswith("_")}
        return {
            name: kind.removeprefix('PrimitiveType("').removesuffix('")')
            for name, kind in named.items()
        }


@pytest.fixture
def lake(tracker):
    return Inferring(tracker.spark, tracker.settings, tracker.topic)


def test_columns_come_and_get_wider_while_the_streams_run(lake):
    lake.send()  # so that there is a topic
    with lake.running():
        wait_for(lake.types, "tables before the first row", within_s=120)
        assert lake.types() == {"model": "string", "kcal": "integer"}
        lake.send('{"model":"pulse","bpm":60,"at":"2026-11-25T12:00:00Z"}', '{"model":"stride"}')
        wait_for(lambda: len(lake.rows(PULSE)) == 1, "the first row", within_s=120)
        assert lake.types()["bpm"] == "long"
        assert lake.types(STRIDE)["at"] == "string"
        lake.send('{"model":"pulse","bpm":60.5,"o":{"x":1}}', '{"model":"pulse","kcal":1.5}')
        wait_for(lambda: len(lake.rows(PULSE)) == 3, "the wider row", within_s=120)
        lake.send('{"model":"pulse","bpm":61,"o":{"x":2,"y":"a"}}', '{"model":"pulse","bpm":"-"}')
        wait_for(lambda: len(lake.rows(PULSE)) == 5, "the deeper row", within_s=120)
    assert lake.types()["bpm"] == "double"
    assert lake.types()["kcal"] == "integer"
    expected = [
        (60.0, None, None),
        (60.5, {"x": 1, "y": None}, None),
        (61.0, {"x": 2, "y": "a"}, None),
        (None, None, '{"bpm":"-"}'),
        (None, None, '{"kcal":1.5}'),
    ]
    assert lake.rows(PULSE, "bpm", "o", "_rescued") == sorted(expected, key=str)
    # Spark reads old and new files alike, and so it is after a restart.
    read = lake.spark.read.format("delta").load(str(lake.settings.lake_dir / PULSE.relative))
    assert sorted(row.bpm for row in read.select("bpm").collect() if row.bpm) == [60.0, 60.5, 61.0]
    before = lake.types()
    lake.send('{"model":"pulse","bpm":1}')
    assert lake.caught_up() is None
    assert lake.types() == before
    handle = DeltaTable(lake.settings.lake_dir / PULSE.relative)
    assert (handle.protocol().min_reader_version, handle.protocol().min_writer_version) == (1, 2)
    history = {
        name: [(entry.before, entry.type, entry.reason.why.value) for entry in entries]
        for name in ("bpm", "kcal", "o")
        if (entries := [e for e in lake.history("pulse") if e.column == name])
    }
    assert history == {
        "bpm": [(None, "bigint", "inferred"), ("bigint", "double", "inferred")],
        "kcal": [(None, "int", "declared")],
        "o": [
            (None, "struct<x: bigint>", "inferred"),
            ("struct<x: bigint>", "struct<x: bigint, y: string>", "inferred"),
        ],
    }


def test_what_a_death_keeps_out_of_the_history_the_next_start_puts_in(lake, monkeypatch):
    lake.send('{"model":"pulse","n":1}')
    assert lake.caught_up() is None
    lake.send('{"model":"pulse","n":0.5}')
    note = SchemaHistory.note

    def dies(history, schemas, keys):
        if lake.types()["n"] == "double":
            raise OSError("the machine stops")
        note(history, schemas, keys)

    with monkeypatch.context() as patch:
        patch.setattr(SchemaHistory, "note", dies)
        assert lake.caught_up() is not None
    assert lake.types()["n"] == "double"
    assert [e.type for e in lake.history("pulse") if e.column == "n"] == ["bigint"]
    assert lake.caught_up() is None
    assert [e.type for e in lake.history("pulse") if e.column == "n"] == ["bigint", "double"]
    assert lake.rows(PULSE, "n") == [(0.5,), (1.0,)]
    before = lake.history("pulse")
    assert lake.caught_up() is None
    assert lake.history("pulse") == before


def test_integers_that_doubles_round_keep_their_column_and_the_fraction_is_rescued(lake):
    lake.send(f'{{"model":"pulse","id":{2**60 + 1},"n":1}}')
    assert lake.caught_up() is None
    lake.send('{"model":"pulse","id":0.5,"n":0.5}')
    for _ in range(2):
        assert lake.caught_up() is None
        assert (lake.types()["id"], lake.types()["n"]) == ("long", "double")
        lake.send('{"model":"stride","id":0.5}')
    assert lake.rows(PULSE, "id", "n", "_rescued") == [
        (2**60 + 1, 1.0, None),
        (None, 0.5, '{"id":0.5}'),
    ]


def test_a_death_while_columns_became_doubles_leaves_tables_that_go_on(lake):
    """One table has doubles already, the other one integers yet."""
    lake.send('{"model":"pulse","n":1}', '{"model":"stride","n":2}')
    assert lake.caught_up() is None
    with open_lake(lake.settings, lake.spark) as context:
        widen(context.committer, {STRIDE: pa.schema([("n", pa.float64())])})
    lake.send('{"model":"pulse","n":0.5}')
    assert lake.caught_up() is None
    assert lake.rows(PULSE, "n") == [(0.5,), (1.0,)]
    assert lake.rows(STRIDE, "n") == [(2.0,)]


def test_the_same_rows_give_the_same_columns_when_silver_is_derived_from_nothing(lake):
    for value in (
        '{"n":1}',
        '{"n":0.5,"o":{"x":1}}',
        '{"o":{"x":0.5,"y":"a"},"l":[]}',
        '{"l":[1]}',
    ):
        lake.send(value.replace("{", '{"model":"pulse",', 1))
        assert lake.caught_up() is None
    before, rows = lake.types(), lake.rows(PULSE, "n", "l", "_rescued")
    shutil.rmtree(lake.settings.lake_dir / PULSE.relative)
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    after = lake.types()
    assert {name: after[name] for name in "nl"} == {name: before[name] for name in "nl"}
    # What was rescued before a value showed the type is in the column now.
    assert lake.rows(PULSE, "n", "l") != []
    assert [row[0] for row in lake.rows(PULSE, "n")] == [row[0] for row in rows]
    assert lake.rows(PULSE, "_rescued") == [(None,)] * 4


def test_a_hint_that_does_not_go_with_a_column_is_refused_until_silver_is_derived_again(lake):
    lake.send('{"model":"pulse","at":"2026-11-25T12:00:00Z"}')
    assert lake.caught_up() is None
    hinted = {"hints": f"{HINTS}, at timestamp"}
    failure = lake.caught_up(**hinted)
    assert "column at is string, and declared as timestamp" in str(failure)
    for table in (PULSE, STRIDE):
        shutil.rmtree(lake.settings.lake_dir / table.relative)
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir), **hinted)
    assert lake.caught_up(**hinted) is None
    assert lake.types()["at"] == "timestamp"
    assert len(lake.rows(PULSE)) == 1
    assert [(e.before, e.type) for e in lake.history("pulse") if e.column == "at"] == [
        (None, "string"),
        ("string", "timestamp"),
    ]


def test_a_requeue_makes_no_column_a_double_that_streams_may_know_as_another(lake):
    rules = {"on_mismatch": "quarantine", "on_unknown": "quarantine"}
    lake.send('{"model":"pulse","n":1}')
    assert lake.caught_up(**rules) is None
    lake.send('{"model":"pulse","n":0.5,"new":1}')
    assert lake.caught_up(**rules) is None
    assert lake.rows(quarantine_of("games"), "reason") == [("unknown_column",)]
    added = {**rules, "on_unknown": "add_columns"}
    assert sum(lake.redo(lambda redo: redo.requeue(), **added).rows.values()) <= 1
    assert lake.types()["n"] == "long"


def test_a_feed_that_is_to_stop_at_new_names_goes_on_when_it_is_told_what_they_are(lake):
    lake.send('{"model":"pulse","n":1}')
    assert lake.caught_up(on_unknown="fail") is None
    lake.send('{"model":"pulse","n":2,"new":1}', '{"model":"pulse","n":3}')
    failures = [lake.caught_up(on_unknown="fail") for _ in range(3)]
    assert isinstance(failures[-1], PoisonedBatchError)
    told = str(failures[-1])
    assert "rows have names that no column is declared for: new" in told
    assert "of bronze_games" in told
    assert len(lake.rows(PULSE)) == 1
    assert lake.caught_up(on_unknown="fail", hints=f"{HINTS}, new bigint") is None
    assert lake.rows(PULSE, "n", "new") == [(1, None), (2, 1), (3, None)]


def test_rows_with_new_names_are_put_aside_if_somebody_asks_for_that(lake):
    lake.send('{"model":"pulse","n":1}')
    assert lake.caught_up(on_unknown="fail") is None
    lake.send('{"model":"pulse","new":1}')
    for _ in range(3):
        failure = lake.caught_up(on_unknown="fail")
    assert isinstance(failure, PoisonedBatchError)
    assert len(ask_to_skip(lake.settings.state_dir, lake.feed(on_unknown="fail"))) == 1
    lake.send('{"model":"pulse","n":2}')
    assert lake.caught_up(on_unknown="fail") is None
    assert lake.rows(PULSE, "n") == [(1,), (2,)]
    assert lake.rows(quarantine_of("games"), "reason", "value") == [
        ("skipped", b'{"model":"pulse","new":1}')
    ]
    done = lake.redo(lambda redo: redo.requeue(with_skipped=True), on_unknown="add_columns")
    assert sum(done.rows.values()) == 1
    assert lake.rows(PULSE, "n", "new") == [(1, None), (2, None), (None, 1)]


def test_before_the_first_row_a_feed_without_hints_and_route_has_a_table(lake):
    lake.route = None
    table = lake.feed(hints="").silver_table(lake.feed().keys[0])
    lake.send("[]")
    assert lake.caught_up(hints="") is None
    assert lake.types(table) == {}
    lake.send('{"a":1}')
    assert lake.caught_up(hints="") is None
    assert lake.rows(table, "a", "_rescued") == [(1, None)]


def test_a_new_name_after_rows_whose_fields_are_all_hinted_goes_by_the_rule(lake):
    lake.send()
    with lake.running(on_unknown="rescue"):
        wait_for(lake.types, "tables before the first row", within_s=120)
        lake.send('{"model":"pulse","kcal":1}')
        wait_for(lambda: len(lake.rows(PULSE)) == 1, "the first row", within_s=120)
        lake.send('{"model":"pulse","bpm":60}')
        wait_for(lambda: len(lake.rows(PULSE)) == 2, "the new name", within_s=120)
    lake.send('{"model":"pulse","at":"noon"}')
    assert lake.caught_up(on_unknown="rescue") is None
    assert lake.types() == {"model": "string", "kcal": "integer"}
    expected = [('{"at":"noon"}',), ('{"bpm":60}',), (None,)]
    assert lake.rows(PULSE, "_rescued") == expected
