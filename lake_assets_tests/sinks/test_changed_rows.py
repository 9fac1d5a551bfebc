"""Random refreshes, kills and upkeep of a view, and one who gets what is sent; without Spark."""

import random
from collections.abc import Iterator
from itertools import compress

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.table_log import log_of
from lake_assets.model.tables import deliveries_of
from lake_assets.sinks import view_batches
from lake_assets.sinks.base import IDENTITY, Call, DeletedRow, Outcome
from lake_assets.sinks.changed_rows import ChangedRows
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.row_hashes import hash_rows
from lake_assets.sinks.shape import Shaped
from lake_assets.sinks.view_batches import next_batch
from lake_assets.sinks.view_position import begin_notes
from lake_assets.sinks.view_rows import progress_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.sample import gold_of
from lake_assets_tests.sinks.views import folder_of, refresh

TABLE = gold_of("uno", "best")
PLAYERS = [f"p{number}" for number in range(12)]


class _KilledError(Exception):
    pass


class Receiver:
    """Has the newest row of each player, and knows what came under which identity."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.known: dict[tuple, tuple] = {}

    def take(self, identity: tuple, row: dict) -> None:
        told = (row["gamer_id"], row["score"], isinstance(row, DeletedRow))
        assert self.known.setdefault(identity, told) == told
        if isinstance(row, DeletedRow):
            self.rows.pop(row["gamer_id"], None)
        else:
            self.rows[row["gamer_id"]] = row["score"]


def _rows(shaped: Shaped) -> Iterator[tuple[tuple, dict]]:
    for one, values in zip(shaped.rows.to_pylist(), shaped.values, strict=True):
        yield tuple(one.values()), values


def _shape(rows, _, identity) -> Shaped:
    return Shaped(rows=identity, values=rows.to_pylist())


def _deliver(settings, deliveries, receiver, chance: random.Random, killed: float) -> None:
    """Deliver all that is new, and perhaps die of it: with or without a record of what was sent."""
    lake = lake_of(settings)
    deliveries.look_again()
    while (batch := next_batch(lake, deliveries, [TABLE], ["gamer_id"])) is not None:
        number = batch.begun.number
        if not batch.is_noted:
            deliveries.note(begin_notes(batch.begun, batch.unknown))
        recorded = deliveries.recorded_by(number)
        for shaped in _changed(lake, batch):
            is_done = recorded.has(hash_rows(shaped.rows, IDENTITY.names))
            pairs = list(compress(_rows(shaped), ~is_done))
            for identity, row in chance.sample(pairs, len(pairs)):
                receiver.take(identity, row)
                if chance.random() < 0.5:
                    _record(deliveries, number, identity)
                if chance.random() < killed:
                    raise _KilledError
        deliveries.record(number, [], progress_of(batch))


def _changed(lake, batch) -> Iterator[Shaped]:
    for change in batch.changes:
        yield from ChangedRows(
            change=change,
            begun=batch.begun,
            log=log_of(lake, TABLE),
            feed="games",
            key=("gamer_id",),
            is_unique=True,
            deletes=True,
            shape=_shape,
        ).rows()


def _record(deliveries, number, identity) -> None:
    row = dict(zip(IDENTITY.names, identity, strict=True))
    rows = pa.Table.from_pylist([row], schema=IDENTITY)
    call = Call(number=1, key="key", rows=rows, body=None)
    deliveries.record(number, [Outcome(call=call, is_delivered=True, tries=1, seconds=0.1)], None)


def _step(settings, chance: random.Random, *, is_hard: bool) -> str:
    folder = folder_of(settings)
    # After a vacuum files may be gone, and RESTORE refuses.
    kinds = ["refresh"] * 6 + ["compact"] + (["vacuum", "anew"] if is_hard else ["restore"])
    kind = chance.choice(kinds)
    if kind == "compact":
        DeltaTable(folder).optimize.compact()
    elif kind == "restore":
        if newest := DeltaTable(folder).version():
            DeltaTable(folder).restore(chance.randrange(newest))
    elif kind == "vacuum":
        options = {"retention_hours": 0, "enforce_retention_duration": False, "dry_run": False}
        DeltaTable(folder).vacuum(**options)
    elif kind == "anew":
        folder.rename(folder.with_name(f"gone-{chance.random()}"))
        refresh(settings, _drawn(chance))
    else:
        refresh(settings, _drawn(chance))
    return kind


def _drawn(chance: random.Random) -> dict[str, int]:
    there = chance.sample(PLAYERS, chance.randint(0, len(PLAYERS)))
    return {player: chance.randint(0, 1) for player in there}


@pytest.mark.parametrize("is_hard", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_who_gets_what_is_sent_has_what_the_view_has(settings, monkeypatch, seed, is_hard):
    chance = random.Random(seed)  # noqa: S311 - which test it is
    receiver, lost = Receiver(), False
    refresh(settings, _drawn(chance))
    for _ in range(12):
        monkeypatch.setattr(view_batches, "_MOST_ROWS", chance.choice([5, 1_000]))
        for _ in range(chance.randint(0, 3)):
            lost |= _step(settings, chance, is_hard=is_hard) in {"vacuum", "anew"}
        with open_lake(settings) as context:
            table = deliveries_of("games", "out")
            deliveries = Deliveries(context, table, has_offsets=False)
            try:
                _deliver(settings, deliveries, receiver, chance, killed=0.05)
            except _KilledError:
                continue
        rows = DeltaTable(folder_of(settings)).to_pyarrow_table().to_pylist()
        held = {row["gamer_id"]: row["score"] for row in rows}
        # Where all rows are sent, nothing is told of those that are gone.
        assert receiver.rows == held or (lost and held.items() <= receiver.rows.items())


def _wanted(rows, _, identity) -> Shaped:
    """Rows with a score above 1."""
    told = [row["score"] > 1 for row in rows.to_pylist()]
    values = [row for row, is_wanted in zip(rows.to_pylist(), told, strict=True) if is_wanted]
    return Shaped(rows=identity.filter(pa.array(told)), values=values)


def test_a_key_of_several_rows_is_deleted_with_the_last_that_is_wanted(settings):
    with open_lake(settings) as context:
        deliveries = Deliveries(context, deliveries_of("games", "out"), has_offsets=False)
        lake, told = lake_of(settings), []

        def deliver() -> None:
            batch = next_batch(lake, deliveries, [TABLE], ["gamer_id"])
            (change,) = batch.changes
            shared = {"key": ("gamer_id",), "is_unique": False, "deletes": True, "shape": _wanted}
            place = {"log": log_of(lake, TABLE), "feed": "games"}
            found = ChangedRows(change=change, begun=batch.begun, **place, **shared).rows()
            told[:] = [
                ("-" if isinstance(row, DeletedRow) else "+", row["gamer_id"], row["score"])
                for shaped in found
                for row in shaped.values
            ]
            deliveries.record(batch.begun.number, [], progress_of(batch))

        refresh(settings, [("ann", 2), ("ann", 3), ("bob", 2), ("bob", 3), ("cid", 2)])
        # In a file that no later change touches.
        stays = pa.table({"gamer_id": ["dan", "eve"], "score": [4, 1], "_state_x": [0, 0]})
        write_deltalake(folder_of(settings), stays, mode="append")
        deliver()
        more = pa.table({"gamer_id": ["dan", "eve"], "score": [5, 5], "_state_x": [0, 0]})
        write_deltalake(folder_of(settings), more, mode="append")
        deliver()
        assert told == [("+", "dan", 5), ("+", "eve", 5)]
        table = DeltaTable(folder_of(settings))
        table.delete("(gamer_id = 'ann' and score = 2) or gamer_id = 'cid' or score = 5")
        table.update({"score": "1"}, predicate="gamer_id = 'bob' and score = 3")
        deliver()
        ups = [("+", "ann", 3), ("+", "bob", 2), ("+", "dan", 4)]
        assert sorted(told) == [*ups, ("-", "cid", 2), ("-", "eve", 5)]


def test_a_table_that_is_new_to_the_sink_is_read_once_file_by_file(settings, monkeypatch):
    monkeypatch.setattr(view_batches, "_MOST_ROWS", 4)
    for number in range(3):
        names = [f"p{number}-{row}" for row in range(3)]
        rows = pa.table({"gamer_id": names, "score": [number] * 3, "_state_x": [0] * 3})
        write_deltalake(folder_of(settings), rows, mode="append")
    lake, found = lake_of(settings), []
    with open_lake(settings) as context:
        deliveries = Deliveries(context, deliveries_of("games", "out"), has_offsets=False)
        while (batch := next_batch(lake, deliveries, [TABLE], ["gamer_id"])) is not None:
            assert batch.begun.shares == 3
            if not batch.is_noted:
                deliveries.note(begin_notes(batch.begun, batch.unknown))
            share = [row["gamer_id"] for one in _changed(lake, batch) for row in one.values]
            assert len({name.partition("-")[0] for name in share}) == 1
            found += share
            deliveries.record(batch.begun.number, [], progress_of(batch))
    assert sorted(found) == sorted({*found})
    assert len(found) == 9


def test_few_rows_of_many_files_are_shaped_at_once(settings):
    with open_lake(settings) as context:
        deliveries = Deliveries(context, deliveries_of("games", "out"), has_offsets=False)
        for number in range(5):
            rows = pa.table({"gamer_id": [f"p{number}"], "score": [1], "_state_x": [0]})
            write_deltalake(folder_of(settings), rows, mode="append")
        batch = next_batch(lake_of(settings), deliveries, [TABLE], ["gamer_id"])
        assert [len(one.values) for one in _changed(lake_of(settings), batch)] == [5]
