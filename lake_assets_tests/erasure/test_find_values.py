"""Erasing from tables that other engines have changed in ways of their own."""

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find_values import rows_with
from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import TableFeatureError
from lake_assets.parquet.data_file import write_file
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import GAMES, silver_of
from lake_assets_tests.table_logs import commit_file

UNO = silver_of("uno")
ORIGIN = GAMES.source.origin
ANN = Wanted(column="gamer_id", values=("ann",))
MATCHING = Matching(
    column="gamer_id",
    key=b"k",
    digests=frozenset(ANN.digests(b"k")),
    spellings=ANN.spellings(),
    plain=ANN.values,
)


@pytest.fixture
def lake(settings):
    """A table of 30 rows, every tenth of which is Ann's."""
    schema = pa.schema(
        [
            ("gamer_id", pa.string()),
            ("_topic", pa.string()),
            ("_partition", pa.int32()),
            ("_offset", pa.int64()),
        ]
    )
    gamers = ["ann" if number % 10 == 0 else "bob" for number in range(30)]
    columns = {"_topic": ["t"] * 30, "_partition": [0] * 30, "_offset": list(range(30))}
    rows = pa.table({"gamer_id": gamers, **columns}, schema=schema)
    with open_lake(settings) as context:
        context.committer.create({UNO: schema})
        written = write_file(context.lake, rows, log_of(context.lake, UNO).folder)
        commit = Commit(table=UNO, files=[DataFile(**written)])
        context.committer.append([commit], Batch("test", 0))
        context.committer.settle()
        yield context, settings.lake_dir / UNO.relative


def committed(folder, *actions):
    version = DeltaTable(folder).version() + 1
    told = [{"commitInfo": {"timestamp": 0, "operation": "DELETE"}}, *actions]
    commit_file(folder, version).write_text("\n".join(map(json.dumps, told)))


def test_a_table_whose_columns_have_other_names_in_files_is_refused(lake):
    context, folder = lake
    first = commit_file(folder, 0)
    told = map(json.loads, first.read_text().splitlines())
    (metadata,) = (one["metaData"] for one in told if "metaData" in one)
    schema = json.loads(metadata["schemaString"])
    for number, field in enumerate(schema["fields"], 1):
        physical = {"delta.columnMapping.physicalName": f"col-{number}"}
        field["metadata"] = {"delta.columnMapping.id": number, **physical}
    mapped = {
        **metadata,
        "configuration": {"delta.columnMapping.mode": "name"},
        "schemaString": json.dumps(schema),
    }
    committed(
        folder, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, {"metaData": mapped}
    )
    log, handle = log_of(context.lake, UNO), DeltaTable(folder)
    with pytest.raises(TableFeatureError, match="columnMapping"):
        rows_with(log, handle, MATCHING, ORIGIN)
