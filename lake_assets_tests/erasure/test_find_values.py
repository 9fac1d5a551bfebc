"""Which files of a table are read for a value, and tables that other engines have changed."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.compaction import join_files
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.remove_rows import remove_rows
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find_values import Sought, matching_rows, rows_with
from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import TableFeatureError
from lake_assets.parquet.bloom_filters import bloomed_columns
from lake_assets.parquet.data_file import write_file
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import GAMES, silver_of
from lake_assets_tests.table_logs import commit_file

UNO = silver_of("uno")
ORIGIN = GAMES.source.origin
ANN = Wanted(column="gamer_id", values=("ann",))


def matching(wanted):
    return Matching(
        column=wanted.column,
        key=b"k",
        digests=frozenset(wanted.digests(b"k")),
        spellings=wanted.spellings(),
        plain=wanted.values,
    )


MATCHING = matching(ANN)


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


def test_files_whose_filters_rule_a_value_out_are_not_read(lake):
    """Its bounds do not: `bea` is between the names that are there."""
    context, folder = lake
    log = log_of(context.lake, UNO)
    (file,) = active_files(context.committer.fresh(UNO))
    joined = join_files(context.committer, UNO, [file], bloom_filters=["gamer_id"])
    assert joined
    unknown = matching(Wanted(column="gamer_id", values=("bea",)))
    found = rows_with(log, DeltaTable(folder), unknown, ORIGIN)
    assert (found.rows, found.read, found.files) == (0, 0, [])
    found = rows_with(log, DeltaTable(folder), MATCHING, ORIGIN)
    assert (found.rows, found.read) == (3, 1)
    assert remove_rows(context.committer, UNO, found.origins, ORIGIN, {}) == 3
    (left,) = DeltaTable(folder).file_uris()
    assert bloomed_columns(pq.read_metadata(left)) == ("gamer_id",)
    hashes_alone = replace(unknown, spellings=(), plain=())
    assert rows_with(log, DeltaTable(folder), hashes_alone, ORIGIN).read == 1


def test_groups_of_rows_whose_bounds_rule_a_value_out_are_not_read(lake):
    """A file that was sorted when it was joined has its rows by groups."""
    context, _ = lake
    log = log_of(context.lake, UNO)
    (file,) = active_files(context.committer.fresh(UNO))
    rows = read_file(log, file).sort_by("gamer_id")
    path = log.data_file("sorted.parquet")
    pq.write_table(rows, path.path, row_group_size=3)
    known = {"gamer_id": pa.array(["ann"])}
    sought = Sought(["gamer_id"], MATCHING.test, known)
    groups = list(matching_rows(log, replace(file, path="sorted.parquet"), sought, ORIGIN))
    assert [group.num_rows for group in groups if group is not None] == [3]
    assert len(groups) == 1


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
