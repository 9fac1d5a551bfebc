"""Rows that demux left out after an erasure, which are taken out of bronze by the next one."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.asked import Request
from lake_assets.erasure.run import erase
from lake_assets.erasure.take_out import TakeOut
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import Erasure, Erasures, ErasureState, Later
from lake_assets.model.owners import Owner
from lake_assets.model.tables import bronze_of, erased_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.erased_rows import erased_schema
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import GAMES

AT = datetime(2026, 11, 28, tzinfo=UTC)
FEED = GAMES.model_copy(update={"expectations": ()})
TOPIC = "games"
BRONZE, ERASED = bronze_of(GAMES.feed), erased_of(GAMES.feed)


def nowhere() -> Endpoints:
    raise AssertionError


class Killed(BaseException):
    """As a kill is: nothing catches it."""


def rows_at(*offsets, schema, **more):
    count = len(offsets)
    own = {"topic": TOPIC, "partition": 0, "kafka_timestamp": AT, "erased_at": AT, **more}
    columns = {name: [own.get(name)] * count for name in schema.names if name != "offset"}
    return pa.table({**columns, "offset": list(offsets)}, schema=schema)


@pytest.fixture
def lake(settings):
    """Bronze of six rows, two of which demux left out by an erasure that was done."""
    origin = GAMES.source.origin
    erased = erased_schema(origin)
    bronze = pa.schema([*(f for f in erased if f.name in origin.names), ("value", pa.binary())])
    one = Erasure(
        id="one",
        requested_at=AT,
        column="gamer_id",
        digests=Wanted(column="gamer_id", values=("ann",)).digests(b"k"),
        later=Later.DROP,
        state=ErasureState.DONE,
        is_proved=True,
    )
    with open_lake(settings) as context:
        ledger = context.erasures
        ledger.write(Erasures(ledger.ready_key(), (one,)))
        owners = {table: Owner(feed=GAMES.feed) for table in (BRONZE, ERASED)}
        context.committer.create({BRONZE: bronze, ERASED: erased}, owners=owners)
        for number, (table, rows) in enumerate(
            [
                (BRONZE, rows_at(*range(6), schema=bronze, value=b"x")),
                (ERASED, rows_at(3, 4, schema=erased, erasure="one")),
            ]
        ):
            written = write_file(context.lake, rows, log_of(context.lake, table).folder)
            commit = Commit(table=table, files=[DataFile(**written)])
            context.committer.append([commit], Batch("test", number))
        context.committer.settle()
    return settings


def again(settings):
    return erase(settings, [FEED], nowhere, Request(is_again=True))


def in_bronze(settings):
    table = DeltaTable(settings.lake_dir / BRONZE.relative).to_pyarrow_table()
    return sorted(table["offset"].to_pylist())


def ledger_says(settings):
    with open_lake(settings) as context:
        (one,) = context.erasures.read().every
        return one, dict(context.erasures.spans(GAMES.feed))


def test_they_leave_and_their_erasure_is_done_again_but_not_proved(lake):
    done = again(lake)
    assert in_bronze(lake) == [0, 1, 2, 5]
    assert done.left == []
    one, spans = ledger_says(lake)
    assert (one.state, one.is_proved) == (ErasureState.DONE, False)
    assert spans == {(TOPIC, 0): [(3, 5)]}
    assert again(lake).taken.rows == {}


@pytest.mark.parametrize("method", ["remove", "_write", "_erase_letters"])
def test_a_process_that_dies_on_its_way_leaves_them_to_the_next(lake, monkeypatch, method):
    def dies(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(TakeOut, method, dies)
        with pytest.raises(Killed):
            again(lake)
    again(lake)
    assert in_bronze(lake) == [0, 1, 2, 5]
    assert ledger_says(lake)[0].state is ErasureState.DONE


def test_other_rows_that_are_where_erased_ones_were_stay(lake):
    """A feed that was reset may read a topic that was created anew, whose offsets begin again."""
    with open_lake(lake) as context:
        context.erasures.record(GAMES.feed, "one", {(TOPIC, 0): [(0, 2), (4, 5)]})
    again(lake)
    assert in_bronze(lake) == [0, 1, 2, 4, 5]
