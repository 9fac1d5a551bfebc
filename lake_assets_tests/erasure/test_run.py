"""An erasure whose process died before all places of its rows were known, and what goes on."""

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
from lake_assets.errors import ErasureError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import ErasureState
from lake_assets.model.owners import Owner
from lake_assets.model.tables import ERASURE_REQUESTS, bronze_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.erased_rows import erased_schema
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.erasure.asking import Asking
from lake_assets_tests.sample import GAMES, silver_of

AT = datetime(2026, 11, 28, tzinfo=UTC)
RAW = GAMES.model_copy(update={"silver": "none"})
PLAIN = GAMES.model_copy(update={"expectations": (), "gold": ()})
BRONZE = bronze_of(RAW.feed)
UNO = silver_of("uno")
ANN = Request(wanted=[Wanted(column="gamer_id", values=("ann",))])


def nowhere() -> Endpoints:
    raise AssertionError


class Killed(BaseException):
    """As a kill is: nothing catches it."""


@pytest.fixture
def lake(settings):
    """Bronze of a feed that has nothing else, so that texts alone tell whose a row is."""
    origin = RAW.source.origin
    own = [one for one in erased_schema(origin) if one.name in origin.names]
    schema = pa.schema([*own, ("value", pa.binary())])
    values = [b"of ann", b"of joanna", b"of bob"]
    columns = {"topic": ["t"] * 3, "partition": [0] * 3, "kafka_timestamp": [AT] * 3}
    rows = pa.table({**columns, "offset": [0, 1, 2], "value": values}, schema=schema)
    with open_lake(settings) as context:
        context.committer.create({BRONZE: schema}, owners={BRONZE: Owner(feed=RAW.feed)})
        written = write_file(context.lake, rows, log_of(context.lake, BRONZE).folder)
        commit = Commit(table=BRONZE, files=[DataFile(**written)])
        context.committer.append([commit], Batch("test", 0))
        context.committer.settle()
    return settings


def run(settings, request):
    return erase(settings, [RAW], nowhere, request)


def in_bronze(settings):
    return DeltaTable(settings.lake_dir / BRONZE.relative).to_pyarrow_table()["value"].to_pylist()


def states(settings):
    with open_lake(settings) as context:
        return [one.state for one in context.erasures.read().every]


def dies(*_, **__):
    raise Killed


@pytest.mark.parametrize("method", ["_found", "remove", "_erase_letters"])
def test_it_is_not_done_before_its_rows_are_gone(lake, monkeypatch, method):
    with monkeypatch.context() as patch:
        patch.setattr(TakeOut, method, dies)
        with pytest.raises(Killed):
            run(lake, ANN)
    done = run(lake, Request(is_again=True))
    if method != "_erase_letters":
        # Hashes find no text, and places count only once all are known.
        assert states(lake) == [ErasureState.NOTED]
        (words,) = done.left
        assert "ask for it again with its values" in words
    assert run(lake, ANN).left == []
    assert in_bronze(lake) == [b"of joanna", b"of bob"]
    assert states(lake)[0] is ErasureState.DONE


def test_a_column_that_tells_nobody_is_refused_before_anything_is_noted(lake):
    schema = pa.schema([("gamer_id", pa.float64()), ("_offset", pa.int64())])
    with open_lake(lake) as context:
        context.committer.create({UNO: schema}, owners={UNO: Owner(feed=GAMES.feed, key="uno")})
    with pytest.raises(ErasureError, match="nobody is told"):
        erase(lake, [PLAIN], nowhere, ANN)
    assert states(lake) == []
    made = Request(is_of_table=True)
    run(lake, made)
    asking = Asking(lake.lake_dir / ERASURE_REQUESTS.relative)
    asking(("gamer_id", "ann", None), ("device", "eve", None))
    done = erase(lake, [PLAIN], nowhere, made)
    assert [one.column for one in done.erasures] == ["device"]
    assert ["nobody is told" in words for words in done.unclear] == [True]
    assert asking.left() == ["ann"]


def test_a_column_that_no_table_has_is_told(lake):
    told = []
    erase(lake, [RAW], nowhere, ANN, tell=told.append)
    assert any("no table of silver has a column 'gamer_id'" in words for words in told)
    assert in_bronze(lake) == [b"of joanna", b"of bob"]
