import asyncio
import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pydantic import SecretStr
from sqlalchemy.exc import SQLAlchemyError

from lake_assets.delta.table_log import log_of
from lake_assets.errors import SinkError
from lake_assets.model.tables import deliveries_of
from lake_assets.sinks import view_batches
from lake_assets.sinks.base import IDENTITY, Call, DeletedRow
from lake_assets.sinks.calls import WaitingRows, calls_of
from lake_assets.sinks.changed_rows import ChangedRows
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.row_hashes import hash_rows
from lake_assets.sinks.shape import Shaped
from lake_assets.sinks.sql.target import SqlTarget
from lake_assets.sinks.view_batches import next_batch
from lake_assets.sinks.view_position import begin_notes
from lake_assets.sinks.view_rows import progress_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.databases import sql_sink
from lake_assets_tests.sample import gold_of
from lake_assets_tests.sinks.views import folder_of, refresh

PARTLY_UNIQUE = """
create table sessions (player text, at int);
create unique index on sessions (player) where at > 0
"""

VIEW = gold_of("uno", "best")

SECRETS = {"GOOD": "pass-word-of-mine", "WRONG": "another-password"}


def _look_up(name):
    return SecretStr(SECRETS[name])


def _calls(target, pieces):
    """One call a piece; a row's offset is its `offset`, or its place; `gone` says that it went."""
    for number, rows in enumerate(pieces, 1):
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
        offsets = range(table.num_rows)
        if "offset" in table.column_names:
            offsets, table = table["offset"].to_pylist(), table.drop_columns("offset")
        gone = [None] * table.num_rows
        if "gone" in table.column_names:
            gone, table = table["gone"].to_pylist(), table.drop_columns("gone")
        place = {"table": "silver/x", "feed": "f", "source": "t", "partition": 0, "ordinal": 0}
        identity = [{**place, "offset": one, "source_time": one * 1_000} for one in offsets]
        values = target.rows_of({name: table[name].combine_chunks() for name in table.column_names})
        yield Call(
            number=number,
            key=f"t/0/0+{table.num_rows}-ab",
            rows=pa.Table.from_pylist(identity, schema=IDENTITY),
            body=target.body_of(
                [DeletedRow(one) if went else one for one, went in zip(values, gone, strict=True)]
            ),
        )


def _deliver(sink, *pieces, tried_for_s=60.0):
    async def run():
        async with SqlTarget(sink.sql, _look_up, tried_for_s=tried_for_s) as target:
            calls = list(_calls(target, pieces))
            found = [await target.deliver(call) for call in calls]
            return [outcome for outcomes in found for outcome in outcomes]

    return asyncio.run(run())


def test_rows_with_a_key_are_there_once_and_as_new_as_they_come(database):
    sink = sql_sink(database, key=["player", "game"], create_table=True)
    rows = [
        {"player": "ann", "game": "uno", "coins": 1, "offset": 1},
        {"player": "ann", "game": "uno", "coins": 2, "offset": 3},
        {"player": "bob", "game": "uno", "coins": 9, "offset": 2},
    ]
    (outcome,) = _deliver(sink, rows)
    assert (outcome.is_delivered, outcome.call.rows.num_rows) == (True, 3)
    found = "select player, coins, _lake_offset from sessions order by player"
    assert database.ask(found) == [("ann", 2, 3), ("bob", 9, 2)]
    # What is older than what is there comes late (requeue, redeliver), or a second time.
    _deliver(sink, [{"player": "ann", "game": "uno", "coins": 7, "offset": 2}], rows)
    assert database.ask(found) == [("ann", 2, 3), ("bob", 9, 2)]
    _deliver(sink, [{"player": "ann", "game": "uno", "coins": None, "offset": 4}])
    assert database.ask(found) == [("ann", None, 4), ("bob", 9, 2)]


def test_rows_that_are_gone_are_deleted_unless_newer_ones_are_there(database):
    sink = sql_sink(database, key=["player", "game"], create_table=True)

    def row(player, offset, *, gone=False):
        return {"player": player, "game": "uno", "coins": 1, "offset": offset, "gone": gone}

    _deliver(sink, [row("ann", 1), row("bob", 1), row("cid", 1), row("dan", 1), row("eve", 3)])
    # Of one version, in whatever order: what the view has, and what it has no more.
    pieces = [row("bob", 2, gone=True), row("bob", 2)], [row("cid", 2)], [row("cid", 2, gone=True)]
    outcomes = _deliver(sink, [row("ann", 2, gone=True)], *pieces, [row("eve", 2, gone=True)])
    assert all(one.is_delivered for one in outcomes)
    found = "select player, _lake_offset from sessions order by player"
    assert database.ask(found) == [("bob", 2), ("cid", 2), ("dan", 1), ("eve", 3)]
    database.ask("insert into sessions (player, game) values ('old', 'uno')")
    _deliver(sink, [row("old", 2, gone=True), row("nobody", 2, gone=True)])
    assert len(database.ask(found)) == 4


async def _deliver_view(settings, sink, chance):
    """Deliver what is new of a view, or a part of it; whether that was all."""
    lake = lake_of(settings)
    with open_lake(settings) as context:
        deliveries = Deliveries(context, deliveries_of("games", "db"), has_offsets=False)
        async with SqlTarget(sink.sql, _look_up) as target:

            def shape(rows, _, identity):
                columns = dict(zip(rows.schema.names, rows.columns, strict=True))
                return Shaped(rows=identity, values=target.rows_of(columns))

            told = {"feed": "games", "key": ("gamer_id",), "is_unique": True, "deletes": True}
            while (batch := next_batch(lake, deliveries, [VIEW], ["gamer_id"])) is not None:
                if not batch.is_noted:
                    deliveries.note(begin_notes(batch.begun, batch.unknown))
                number, log = batch.begun.number, log_of(lake, VIEW)
                recorded, (change,) = deliveries.recorded_by(number), batch.changes
                changed = ChangedRows(
                    change=change, begun=batch.begun, log=log, shape=shape, **told
                )
                waiting = (
                    WaitingRows.of(one, recorded.has(hash_rows(one.rows, IDENTITY.names)))
                    for one in changed.rows()
                )
                calls = [call for some in calls_of(waiting, target, "sink") for call in some]
                for call in chance.sample(calls, len(calls)):
                    outcomes = await target.deliver(call)
                    if chance.random() < 0.5:
                        deliveries.record(number, outcomes, None)
                    if chance.random() < 0.1:
                        return False
                deliveries.record(number, [], progress_of(batch))
    return True


def test_a_table_has_what_a_view_has_whatever_is_cut_off(database, settings, monkeypatch):
    chance = random.Random(1)  # noqa: S311 - which test it is
    sink = sql_sink(database, key=["gamer_id"], create_table=True, rows_per_call=2)
    for _ in range(8):
        monkeypatch.setattr(view_batches, "_MOST_ROWS", chance.choice([5, 1_000]))
        players = chance.sample("abcdefghij", chance.randint(1, 10))
        refresh(settings, {player: chance.randint(0, 1) for player in players})
        if asyncio.run(_deliver_view(settings, sink, chance)):
            rows = DeltaTable(folder_of(settings)).to_pyarrow_table().to_pylist()
            held = sorted((row["gamer_id"], row["score"]) for row in rows)
            assert database.ask("select gamer_id, score from sessions order by gamer_id") == held


def test_a_row_that_cannot_be_deleted_is_one_dead_letter(database):
    sink = sql_sink(database, key=["player"], create_table=True)
    _deliver(sink, [{"player": "ann", "offset": 1}, {"player": "bob", "offset": 1}])
    database.ask("create table awards (player text references sessions (player))")
    database.ask("insert into awards values ('ann')")
    gone = [{"player": name, "offset": 2, "gone": True} for name in ("ann", "bob")]
    outcomes = _deliver(sink, gone)
    assert sorted(one.is_delivered for one in outcomes) == [False, True]
    (refused,) = (one for one in outcomes if not one.is_delivered)
    assert refused.request.startswith("delete from public.sessions by player")
    assert database.ask("select player from sessions") == [("ann",)]


def test_a_version_of_ones_own_tells_the_newer_row(database):
    database.ask("create table sessions (player text unique, level int, at timestamptz)")
    database.ask("insert into sessions values ('old', 0, null)")
    sink = sql_sink(database, key=["player"], version="at")

    def row(player, level, day):
        at = None if day is None else datetime(2026, 11, day, tzinfo=UTC)
        return {"player": player, "level": level, "at": at}

    _deliver(sink, [row("ann", 5, 20), row("ann", 4, 19), row("ann", 0, None), row("old", 1, 1)])
    _deliver(sink, [row("ann", 3, 18)], [row("bob", 1, None)], [row("bob", 2, 1)])
    found = database.ask("select player, level from sessions order by player")
    assert found == [("ann", 5), ("bob", 2), ("old", 1)]


def test_a_version_of_text_is_compared_as_the_tables_column_has_it(database):
    database.ask("create table sessions (player text unique, level int, at int)")
    sink = sql_sink(database, key=["player"], version="at")
    _deliver(sink, [{"player": "ann", "level": int(at), "at": at} for at in ("9", "11", "10")])
    assert database.ask("select level from sessions") == [(11,)]


@pytest.mark.parametrize("kind", ["bytea", "text[]"])
def test_a_value_that_cannot_be_sent_to_its_column_is_a_dead_letter(database, kind):
    database.ask(f"create table sessions (player text unique, raw {kind})")
    rows = [{"player": "ann", "raw": None}, {"player": "bob", "raw": "text"}]
    outcomes = _deliver(sql_sink(database, key=["player"], version="raw"), rows)
    (refused,) = [one for one in outcomes if not one.is_delivered]
    assert '"player": "bob"' in refused.request
    assert database.ask("select player from sessions") == [("ann",)]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_name_that_is_too_long_for_a_column_stops_the_sink(database, is_there):
    if is_there:
        database.ask("create table sessions (player text)")
    sink = sql_sink(database, create_table=True)
    with pytest.raises(SinkError, match=r"cannot have a column 'ää+'.*by `select`"):
        _deliver(sink, [{"player": "ann", "ä" * 40: 1}])


def test_times_that_pythons_calendar_has_not_arrive_or_are_dead_letters(database):
    sink = sql_sink(database, key=["player"], create_table=True)
    micros, days = 38_503 * 31_556_952 * 10**6, 2**30
    kinds = {"at": pa.timestamp("us", tz="UTC"), "day": pa.date32(), "offset": pa.int64()}
    rows = pa.table(
        {
            "player": ["ann", "ann", "bob"],
            **{
                name: pa.array(values, kinds[name])
                for name, values in {
                    "at": [0, micros, 0],
                    "day": [0, 0, -days],
                    "offset": [1, 2**51, 3],  # and its time, by `_calls`
                }.items()
            },
        }
    )
    outcomes = _deliver(sink, rows)
    assert sum(one.call.rows.num_rows for one in outcomes if one.is_delivered) == 2
    (refused,) = [one for one in outcomes if not one.is_delivered]
    assert "-2937836-09-26" in refused.request
    found = "select player, to_char(at, 'YYYY'), to_char(_lake_time, 'YYYY') from sessions"
    assert database.ask(found) == [("ann", "40472", "73326")]


def test_an_origin_makes_added_rows_come_once(database):
    sink = sql_sink(database, origin="came_from", create_table=True)
    rows = [{"player": "ann", "offset": 1}, {"player": "ann", "offset": 2}]
    _deliver(sink, rows, rows)
    found = database.ask("select came_from, player from sessions order by 1")
    assert [player for _, player in found] == ["ann", "ann"]
    assert found[0][0] == "silver/x/f/t/0/1/0@1970-01-01T00:00:00.001000+00:00"


def test_without_key_and_origin_a_repeated_call_is_there_twice(database):
    database.ask("create table sessions (player text)")
    _deliver(sql_sink(database), [{"player": "ann"}], [{"player": "ann"}])
    assert database.ask("select count(*) from sessions") == [(2,)]


def test_values_of_all_types_arrive_as_they_are(database):
    kinds = {
        "flag": (pa.bool_(), True, True),
        "big": (pa.int64(), 2**62, 2**62),
        "unsigned": (pa.uint64(), 2**64 - 1, Decimal(2**64 - 1)),
        "price": (pa.decimal128(10, 3), Decimal("12.340"), Decimal("12.340")),
        "at": (
            pa.timestamp("us", tz="UTC"),
            datetime(2026, 11, 25, 1, 2, 3, 4, tzinfo=UTC),
            datetime(2026, 11, 25, 1, 2, 3, 4, tzinfo=UTC),
        ),
        "local": (pa.timestamp("us"), datetime(2026, 1, 1), datetime(2026, 1, 1)),  # noqa: DTZ001
        "day": (pa.date32(), date(2026, 1, 2), date(2026, 1, 2)),
        "raw": (pa.binary(), b"\x00\xff", b"\x00\xff"),
        "text": (pa.string(), "ä'; drop table x; --", "ä'; drop table x; --"),
        "list": (pa.list_(pa.int64()), [1, 2], [1, 2]),
        "odd Name%(x)s": (pa.struct([("a", pa.string())]), {"a": "b"}, {"a": "b"}),
        "none": (pa.list_(pa.string()), None, None),
        "score": (pa.float64(), 0.1, 0.1),
    }
    columns = {name: pa.array([value], kind) for name, (kind, value, _) in kinds.items()}
    (outcome,) = _deliver(sql_sink(database, create_table=True), pa.table(columns))
    assert outcome.is_delivered, outcome.reason
    assert database.ask("select * from sessions") == [tuple(told for *_, told in kinds.values())]
    assert database.ask("select pg_typeof(list)::text, none is null from sessions") == [
        ("jsonb", True)
    ]


def test_a_row_that_is_refused_takes_no_other_with_it(database):
    database.ask("create table sessions (player text not null, coins int check (coins < 100))")
    rows = [{"player": f"p{number}", "coins": number} for number in range(20)]
    rows[3]["coins"], rows[7]["player"], rows[11]["coins"] = 1000, None, 2**40
    rows[15]["player"] = "with \x00"
    outcomes = _deliver(sql_sink(database), rows)
    refused = [one for one in outcomes if not one.is_delivered]
    assert [one.call.rows["offset"].to_pylist() for one in refused] == [[3], [7], [11], [15]]
    told = " ".join(one.reason for one in refused)
    for word in ("check constraint", "not-null", "out of range", "NUL"):
        assert word in told
    assert '"coins": 1000' in refused[0].request
    assert sum(one.call.rows.num_rows for one in outcomes) == 20
    assert database.ask("select count(*) from sessions") == [(16,)]


def test_a_key_that_is_null_is_refused(database):
    database.ask("create table sessions (player text unique, at int)")
    sink = sql_sink(database, key=["player"], version="at")
    outcomes = _deliver(sink, [{"player": "ann", "at": 1}, {"player": None, "at": 1}])
    assert [one.is_delivered for one in outcomes] == [True, False]
    assert "player is null" in outcomes[1].reason


def test_columns_that_come_are_added_where_the_sink_may(database):
    first, second = [{"player": "ann"}], [{"player": "bob", 'odd %(x)s "name': 3}]
    _deliver(sql_sink(database, create_table=True), first, second)
    assert database.ask("select * from sessions order by 1") == [
        ("ann", None),
        ("bob", 3),
    ]
    third = [{"player": "cid", "level": 3}]
    with pytest.raises(SinkError, match="has no column level"):
        _deliver(sql_sink(database), third)


@pytest.mark.parametrize(
    ("made", "declared", "told"),
    [
        ("", {}, "is not there"),
        ("create table sessions (player text)", {"key": ["player"]}, "no column _lake_time, _l"),
        (
            "create table sessions (player text, at int)",
            {"key": ["player"], "version": "at"},
            "no unique index over player",
        ),
        (
            PARTLY_UNIQUE,
            {"key": ["player"], "version": "at"},
            "no unique index over player",
        ),
        ("create table sessions (player text)", {"user": "nobody_here"}, "does not exist"),
    ],
)
def test_a_table_that_does_not_fit_stops_the_sink_at_its_start(database, made, declared, told):
    database.ask(made)
    with pytest.raises(SinkError, match=told):
        _deliver(sql_sink(database, **declared))


def test_a_wrong_password_stops_the_sink_and_is_not_told(database):
    database.ask("create role writer login password 'pass-word-of-mine'")
    database.ask("create table sessions (player text)")
    database.ask("grant insert, select on sessions to writer")
    database.require_password("writer")
    login = {"user": "writer", "password": {"env": "GOOD"}}
    (outcome,) = _deliver(sql_sink(database, **login), [{"player": "ann"}])
    assert outcome.is_delivered
    with pytest.raises(SinkError, match="password authentication failed") as told:
        _deliver(sql_sink(database, **{**login, "password": {"env": "WRONG"}}))
    assert SECRETS["WRONG"] not in str(told.value)
    database.ask("revoke insert on sessions from writer")
    with pytest.raises(SinkError, match="permission denied"):
        _deliver(sql_sink(database, **login), [{"player": "bob"}])


def test_a_row_that_somebody_locks_is_waited_for(database, monkeypatch):
    database.ask("create table sessions (player text primary key, at int)")
    database.ask("insert into sessions values ('ann', 1)")
    sink = sql_sink(database, key=["player"], version="at", timeout="1s")
    with database.begin() as other:
        other.execute("update sessions set at = 2")
        write = SqlTarget._write  # noqa: SLF001 - what each try does

        def written(*arguments):
            try:
                write(*arguments)
            except SQLAlchemyError:
                other.commit()
                raise

        monkeypatch.setattr(SqlTarget, "_write", written)
        (outcome,) = _deliver(sink, [{"player": "ann", "at": 3}])
    assert outcome.is_delivered
    assert outcome.tries > 1
    assert database.ask("select at from sessions") == [(3,)]


def test_a_database_that_is_away_loses_no_row(database):
    database.ask("create table sessions (player text)")
    sink = sql_sink(database)

    async def run():
        async with SqlTarget(sink.sql, _look_up) as target:
            first, second = _calls(target, [[{"player": "ann"}], [{"player": "bob"}]])
            await target.deliver(first)
            database.server.stop()
            under_way = asyncio.create_task(target.deliver(second))
            await asyncio.sleep(0.3)
            database.server.start()
            return await under_way

    (outcome,) = asyncio.run(run())
    assert outcome.is_delivered
    assert outcome.tries > 1
    assert database.ask("select player from sessions order by 1") == [("ann",), ("bob",)]
    database.server.stop()
    try:
        with pytest.raises(SinkError, match="cannot be written"):
            _deliver(sink, [{"player": "cid"}], tried_for_s=0.1)
    finally:
        database.server.start()
