"""What sinks' tables keep of rows that are erased."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.dead_letters import deliveries_in, erase_letters
from lake_assets.erasure.matching import Matching
from lake_assets.model.tables import deliveries_of
from lake_assets.parquet.data_file import write_file
from lake_assets.sinks.entries import SCHEMA
from lake_assets.spark.lake_context import open_lake

TABLE = deliveries_of("games", "api")
ANN = Matching(
    column="gamer_id", key=b"k", digests=frozenset(), spellings=("ann-7f3a",), plain=("ann-7f3a",)
)
HASHES = Matching(column="gamer_id", key=b"k", digests=frozenset())
SPANS = {("t", 0): [(1, 2)]}


def entry(table, source, offset, *, delivered=False, **texts):
    origin = {"table": table, "feed": "games", "source": source, "partition": 0, "offset": offset}
    at = datetime(2026, 11, 28, tzinfo=UTC)
    told = {"source_time": at, "ordinal": 0, "batch": 1, "call": 1, "tries": 1, "time": at}
    return {**dict.fromkeys(SCHEMA.names), **origin, **told, "delivered": delivered, **texts}


ENTRIES = [
    entry("silver/s", "t", 1, request='{"gamer_id":"ann-7f3a"}', reason="400", key="a"),
    entry("silver/s", "t", 1, delivered=True),
    entry("silver/s", "t", 2, request='{"gamer_id":"bob"}', reason="400", key="b"),
    entry("silver/s", "t", 3, request='{"gamer_id":"bob"}', response="not ann-7f3a", key="c"),
    entry("gold/g", 'x ["ann-7f3a"]', 7, delivered=True),
    entry("gold/g", 'x ["bob"]', 7, response="as ann-7f3a has it", reason="409", key="d"),
]


@pytest.fixture
def context(settings):
    with open_lake(settings) as opened:
        opened.committer.create({TABLE: SCHEMA})
        rows = pa.Table.from_pylist(ENTRIES, schema=SCHEMA)
        file = DataFile(**write_file(opened.lake, rows, log_of(opened.lake, TABLE).folder))
        opened.committer.append([Commit(table=TABLE, files=[file])], Batch("sink", 1))
        yield opened


def rows(context):
    found = DeltaTable(context.lake.root.as_path() / TABLE.relative).to_pyarrow_table()
    names = ["source", "offset", "request", "response", "reason"]
    return sorted(map(tuple, map(dict.values, found.select(names).to_pylist())), key=str)


def test_letters_quote_nobody_and_what_was_sent_stays_recorded(context):
    assert deliveries_in(context.lake, "games") == [TABLE]
    assert erase_letters(context.committer, TABLE, SPANS, ANN, "one") == 4
    kept = [
        ("t", 1, None, None, None),  # sent
        ("t", 1, None, None, "erased"),
        ("t", 2, '{"gamer_id":"bob"}', None, "400"),
        ("t", 3, None, None, "erased"),
        ('x ["bob"]', 7, None, None, "erased"),  # somebody else's row of a view
    ]
    assert rows(context) == sorted(kept, key=str)
    assert erase_letters(context.committer, TABLE, SPANS, ANN, "one") == 0


def test_places_alone_tell_which_letters_are_blanked(context):
    assert erase_letters(context.committer, TABLE, SPANS, HASHES, "one") == 1
    assert ("t", 1, None, None, "erased") in rows(context)
    assert len(rows(context)) == len(ENTRIES)
