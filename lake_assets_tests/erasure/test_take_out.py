"""Rows that came after a request which keeps such, when it goes on."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.asked import Request
from lake_assets.erasure.run import erase
from lake_assets.erasure.take_out import concerned
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import Erasure, Erasures, ErasureState, Later
from lake_assets.model.owners import Owner
from lake_assets.model.tables import quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import GAMES, silver_of

FEED = GAMES.model_copy(update={"expectations": (), "gold": ()})
UNO, QUARANTINE = silver_of("uno"), quarantine_of(GAMES.feed)
PLACE = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}


def nowhere() -> Endpoints:
    raise AssertionError


CUT = {("t", 0): 2}


def asked(key=b"k", *, later=Later.KEEP, state=ErasureState.REMOVED, cuts=CUT):
    return Erasure(
        id="one",
        requested_at=datetime(2026, 11, 28, tzinfo=UTC),
        column="gamer_id",
        digests=Wanted(column="gamer_id", values=("ann",)).digests(key),
        later=later,
        cuts={GAMES.feed: cuts},
        state=state,
    )


@pytest.mark.parametrize(
    ("state", "cuts", "stay"),
    [
        (ErasureState.REMOVED, CUT, [2, 3]),
        (ErasureState.NOTED, CUT, [2, 3]),
        (ErasureState.NOTED, {}, []),  # nobody has its source any more
    ],
)
def test_they_stay_when_it_goes_on(settings, state, cuts, stay):
    silver = pa.schema([("gamer_id", pa.string()), *((f"_{n}", k) for n, k in PLACE.items())])
    rows = {"gamer_id": ["ann"] * 4, "_topic": ["t"] * 4, "_partition": [0] * 4}
    with open_lake(settings) as context:
        ledger = context.erasures
        key = ledger.ready_key()
        ledger.write(Erasures(key, (asked(key, state=state, cuts=cuts),)))
        owners = {UNO: Owner(feed=FEED.feed, key="uno"), QUARANTINE: Owner(feed=FEED.feed)}
        columns = {UNO: silver, QUARANTINE: pa.schema([*PLACE.items(), ("value", pa.binary())])}
        context.committer.create(columns, owners=owners)
        table = pa.table({**rows, "_offset": range(4)}, schema=silver)
        written = write_file(context.lake, table, log_of(context.lake, UNO).folder)
        commit = Commit(table=UNO, files=[DataFile(**written)])
        context.committer.append([commit], Batch("test", 0))
        context.committer.settle()
    erase(settings, [FEED], nowhere, Request(is_again=True))
    left = DeltaTable(settings.lake_dir / UNO.relative).to_pyarrow_table()["_offset"]
    assert sorted(left.to_pylist()) == stay


@pytest.mark.parametrize(
    ("erasure", "spans", "own"),
    [
        (asked(later=Later.DROP), {("t", 0): [(1, 9)]}, {("t", 0): [(1, 9)]}),
        (asked(), {("t", 0): [(0, 1), (1, 9), (10, 11)]}, {("t", 0): [(0, 1), (1, 2)]}),
        (asked(), {("t", 1): [(0, 9)]}, {}),
        (asked(), {("u", 0): [(0, 9)]}, {}),
        (asked(state=ErasureState.NOTED), {("u", 0): [(0, 9)]}, {("u", 0): [(0, 9)]}),
        (asked(state=ErasureState.NOTED), {("t", 1): [(0, 9)]}, {}),
    ],
)
def test_rows_are_concerned_by_where_they_are(erasure, spans, own):
    assert concerned(erasure, GAMES.feed, spans) == own
