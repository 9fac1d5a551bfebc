import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.held_values import unheld
from lake_assets.delta.rounded_columns import rounded_columns
from lake_assets.delta.widen import widen
from lake_assets.formats.questions import KeptTypesQuestion
from lake_assets.silver.kept_types import kept_types
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")

HAVE = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("o", pa.struct([("x", pa.int64())])),
        ("l", pa.list_(pa.int64())),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("s", pa.string()),
    ]
)
WANTED = pa.schema(
    [
        ("id", pa.float64()),
        ("n", pa.float64()),
        ("o", pa.struct([("x", pa.float64()), ("y", pa.string())])),
        ("l", pa.list_(pa.float64())),
        ("m", pa.map_(pa.string(), pa.float64())),
        ("s", pa.string()),
        ("new", pa.float64()),
    ]
)


def test_columns_of_integers_that_are_to_be_doubles_are_found_at_any_depth():
    assert rounded_columns(HAVE, WANTED) == ["id", "n", "o", "l", "m"]
    assert rounded_columns(WANTED, WANTED) == []
    assert rounded_columns(HAVE, HAVE) == []


@pytest.fixture
def table(committer, land):
    committer.create({UNO: HAVE})
    rows = [
        {"id": 2**53 + 1, "n": 2**53, "o": {"x": 1}, "l": [1, None]},
        {"id": 1, "n": -(2**53), "o": None, "l": [2**60]},
    ]
    for number, row in enumerate(rows):
        commit = land(UNO, pa.Table.from_pylist([row], schema=HAVE))
        committer.append([commit], Batch("query", number))
    return committer


def test_a_column_is_not_held_if_a_double_would_be_another_number(table):
    names = ["id", "n", "o", "l"]
    assert unheld(table, [UNO, silver_of("chess")], WANTED, names) == ["id", "l"]


def test_files_that_lack_a_column_hold_it(committer, land):
    committer.create({UNO: HAVE})
    narrow = pa.schema([HAVE.field("s")])
    commit = land(UNO, pa.Table.from_pylist([{"s": "a"}], schema=narrow))
    committer.append([commit], Batch("query", 0))
    assert unheld(committer, [UNO], WANTED, ["id", "n"]) == []


def test_what_is_held_becomes_doubles_in_new_files(table, tmp_path):
    held = pa.schema([HAVE.field("id"), *(WANTED.field(n) for n in ("n", "o", "new"))])
    assert widen(table, {UNO: held}) == {UNO: ["n", "o"]}
    handle = DeltaTable(tmp_path / UNO.relative)
    assert (handle.protocol().min_reader_version, handle.protocol().min_writer_version) == (1, 2)
    rows = handle.to_pyarrow_table().sort_by("id").to_pylist()
    assert [(row["id"], row["n"], row["o"], row["new"]) for row in rows] == [
        (1, -(2.0**53), None, None),
        (2**53 + 1, 2.0**53, {"x": 1.0, "y": None}, None),
    ]


def test_the_question_names_what_keeps_its_integers(table):
    assert kept_types(table, [UNO], HAVE, HAVE, rounds=True) == frozenset()
    wanted = pa.schema([WANTED.field("n"), WANTED.field("id")])
    (question,) = kept_types(table, [UNO], HAVE, wanted, rounds=True)
    assert question == KeptTypesQuestion(("id",))
    # Where others write what they know, no column becomes a double.
    (question,) = kept_types(table, [UNO], HAVE, wanted, rounds=False)
    assert question == KeptTypesQuestion(("id", "n"))
