import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.delta.convert import convert
from lake_assets.delta.parquet_folder import ensure_fit
from lake_assets.errors import LakeError
from lake_assets_tests.commandline import sparkless_here


def put(folder, name, columns):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def files(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and "_delta_log" not in str(path))
    return {path.relative_to(folder): path.read_bytes() for path in found}


def test_a_folder_becomes_a_table_and_its_files_stay_as_they_are(tmp_path, settings):
    folder = tmp_path / "plays"
    put(folder, "day=2026-03-01/country=se/a.parquet", {"id": [1, 2]})
    put(folder, "day=2026-03-02/country=no/b.parquet", {"id": [3], "more": ["x"]})
    before = files(folder)
    split = ("--partition-by", "day date, country string")
    done = sparkless_here(settings, "convert", str(folder), *split)
    assert done.stdout.splitlines()[0].endswith("a Delta table of 2 files and 3 rows"), done.stderr
    assert files(folder) == before
    rows = DeltaTable(folder).to_pyarrow_table().sort_by("id").to_pylist()
    told = [(row["id"], str(row["day"]), row["country"], row["more"]) for row in rows]
    assert told == [
        (1, "2026-03-01", "se", None),
        (2, "2026-03-01", "se", None),
        (3, "2026-03-02", "no", "x"),
    ]
    with pytest.raises(LakeError, match="is a Delta table already"):
        convert(folder, "day date, country string")


def test_a_folder_of_the_lake_or_one_that_has_it_becomes_no_table(tmp_path, settings):
    put(settings.lake_dir, "silver/lost_its_log/a.parquet", {"id": [1]})
    (tmp_path / "link").symlink_to(settings.lake_dir / "silver")
    for folder in (settings.lake_dir, tmp_path, tmp_path / "link" / "lost_its_log"):
        done = sparkless_here(settings, "convert", str(folder))
        assert "is in the lake, or has the lake in it" in done.stderr
    assert not [*tmp_path.rglob("_delta_log")]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": pa.array([1], pa.uint32())}, "column a of type uint32, which Delta does not have"),
        ({"a": pa.array([1], pa.timestamp("ns", "UTC"))}, "column a of type timestamp"),
        ({"a": pa.array([[1]], pa.list_(pa.uint8()))}, "column a of type uint8"),
        ({"a b": [1]}, "column 'a b', and a Delta table cannot have such a name"),
        ({"a": [1], "A": [2]}, "two columns called a, but for the case"),
        ({"a": [{"b": 1, "B": 2}]}, "two columns called b, but for the case"),
        ({"a": [[{"b c": 1}]]}, "column 'b c', and a Delta table cannot have such a name"),
        ({"a": pa.array([1], pa.timestamp("us", "Europe/Oslo"))}, "column a of type timestamp"),
    ],
)
def test_what_a_table_cannot_have_is_refused_by_name_and_nothing_is_changed(
    tmp_path, columns, said
):
    put(tmp_path, "x.parquet", columns)
    before = files(tmp_path)
    with pytest.raises(LakeError, match=said):
        convert(tmp_path)
    assert files(tmp_path) == before
    assert not (tmp_path / "_delta_log").exists()


def test_times_without_a_zone_of_the_former_type_are_refused(tmp_path):
    at = pa.table({"at": pa.array([1], pa.timestamp("us"))})
    pq.write_table(at, tmp_path / "x.parquet", use_deprecated_int96_timestamps=True)
    with pytest.raises(LakeError, match="the former type INT96 in at"):
        convert(tmp_path)


@pytest.mark.parametrize(
    ("name", "partition_by", "said"),
    [
        ("b.parquet", "", "column id as int64 in a.parquet, and as string in b.parquet"),
        ("_temporary/b.parquet", "", "a hidden file _temporary/b.parquet"),
        ("day=2026-03-01/b.parquet", "", "b.parquet in day=2026-03-01, and is said to be split"),
        ("c.parquet", "day date", "a.parquet in the folder itself, and is said to be split by day"),
        ("c.parquet", "day array<int>", "day is of a type that names no folder"),
        ("000000_0", "", "a Parquet file 000000_0, which would be left out"),
        ("b.PARQUET", "", "a Parquet file b.PARQUET, which would be left out"),
        ("a%3Ab.parquet", "", "readers would take %3A in it for another character"),
    ],
)
def test_files_that_do_not_go_together_are_refused(tmp_path, name, partition_by, said):
    put(tmp_path, "a.parquet", {"id": [1]})
    put(tmp_path, name, {"id": ["one"]})
    with pytest.raises(LakeError, match=said):
        convert(tmp_path, partition_by)
    assert not (tmp_path / "_delta_log").exists()


def test_a_torn_file_and_an_empty_folder_are_told(tmp_path):
    with pytest.raises(LakeError, match="has no Parquet file"):
        convert(tmp_path)
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    for none in ("torn.parquet", "not there"):
        with pytest.raises(LakeError, match=f"{none}: is no folder"):
            convert(tmp_path / none)
    with pytest.raises(LakeError, match=r"torn.parquet: is no Parquet file that can be read"):
        convert(tmp_path)


def test_columns_of_all_files_are_judged_not_only_those_of_the_first(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1]})
    put(tmp_path, "b.parquet", {"id": [1], "more": [1]})
    put(tmp_path, "c.parquet", {"id": [1], "more": ["x"]})
    with pytest.raises(LakeError, match=r"more as int64 in b.parquet, and as string in c.parquet"):
        convert(tmp_path)
    put(tmp_path, "c.parquet", {"ID": [1]})
    with pytest.raises(LakeError, match="two columns called id, but for the case"):
        convert(tmp_path)
    put(tmp_path, "c.parquet", {"not so": [1]})
    with pytest.raises(LakeError, match="a column 'not so'"):
        convert(tmp_path)


def test_a_column_that_is_never_null_and_that_a_file_lacks_is_refused(tmp_path):
    # The table would say so, too, and readers would take its nulls for something else.
    whole = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    pq.write_table(pa.table({"id": [1]}, schema=whole), tmp_path / "a.parquet")
    put(tmp_path, "b.parquet", {"more": [1]})
    with pytest.raises(LakeError, match=r"id in a.parquet, where it is never null, and not in b"):
        convert(tmp_path)


def test_a_folders_value_is_of_its_columns_type(tmp_path):
    put(tmp_path, "day=soon/a.parquet", {"id": [1]})
    with pytest.raises(LakeError, match="a folder day=soon, and day is said to be date32"):
        convert(tmp_path, "day date")
    put(tmp_path, "day=__HIVE_DEFAULT_PARTITION__/b.parquet", {"id": [2]})
    convert(tmp_path, "day string")
    found = DeltaTable(tmp_path).to_pyarrow_table().sort_by("id").to_pylist()
    assert found == [{"id": 1, "day": "soon"}, {"id": 2, "day": None}]


@pytest.mark.parametrize("log", ["day=1/_delta_log", ".hoodie"])
def test_files_of_a_table_that_is_there_are_left_to_its_log(tmp_path, log):
    put(tmp_path, "day=1/a.parquet", {"id": [1]})
    (tmp_path / log).mkdir()
    with pytest.raises(LakeError, match=f"has {log}, the log of a table of its own"):
        convert(tmp_path, "day int")


def test_a_folder_of_a_table_is_no_table_of_its_own(tmp_path):
    put(tmp_path, "day=1/a.parquet", {"id": [1]})
    convert(tmp_path, "day int")
    with pytest.raises(LakeError, match="is in the Delta table"):
        convert(tmp_path / "day=1")


def test_linked_folders_are_refused(tmp_path):
    put(tmp_path, "elsewhere/a.parquet", {"id": [1]})
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "day=1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LakeError, match="has day=1, which is a link to another folder"):
        convert(tmp_path / "here", "day int")


def test_a_log_without_a_commit_as_one_that_was_killed_leaves_it_is_no_table(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1]})
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_commit_1.json.tmp").write_text("{")
    assert convert(tmp_path).files == 1


def test_a_folder_that_is_written_to_meanwhile_is_no_table(tmp_path, monkeypatch):
    put(tmp_path, "a.parquet", {"id": [1]})

    def written_to(*given):
        ensure_fit(*given)
        put(tmp_path, "b.parquet", {"id": ["late"], "b c": [1]})
        (tmp_path / "a.parquet").unlink()

    monkeypatch.setattr("lake_assets.delta.convert.ensure_fit", written_to)
    with pytest.raises(LakeError, match=r"was written to meanwhile: a.parquet is another now"):
        convert(tmp_path)
    assert not DeltaTable.is_deltatable(str(tmp_path))
