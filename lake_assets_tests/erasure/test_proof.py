"""What the proof finds, an independent look at all bytes finds, too; and the other way round."""

import base64
import gzip
import io
import json
import lzma
import sqlite3
import struct
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pydantic import SecretStr

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.data_files import active_files
from lake_assets.delta.history_end import end_history
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.proof import prove
from lake_assets.erasure.scanned import Kind
from lake_assets.erasure.sought import Sought
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import digest_of
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import StorageSettings
from lake_assets.settings.upkeep import BackupSettings
from lake_assets_tests.erasure.bytes_of_everything import files_of, has, holders, objects_of
from lake_assets_tests.maintenance.lakes import SCHEMA, WrittenLake
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")
PERSON, NUMBER = 'zaphod "é/42"', 987654321
KEY = b"0123456789abcdef"
NOWHERE = Path("/nowhere")


@pytest.fixture(autouse=True)
def lake(settings):
    made = WrittenLake(settings, "games")
    made.create(UNO, "uno")
    made.append(UNO, 2)
    settings.state_dir.mkdir(parents=True)
    yield made
    made.committer.close()


@pytest.fixture
def look(settings, tmp_path):
    """What the proof finds: names of files and kinds; the same files as others find them."""
    nothing = tmp_path / "temporary"

    def run(*values, columns="gamer"):
        wanted = [Wanted(column=columns, values=tuple(map(str, values or (PERSON, NUMBER))))]
        proof = prove(settings, wanted, KEY, temporary=nothing)
        files = {(one.file, one.kind) for one in proof.scanned.findings}
        others = holders(files_of(tmp_path), *(values or (PERSON, NUMBER)))
        assert {file for file, _ in files if "…" not in file} == {str(tmp_path / o) for o in others}
        assert not any(str(value) in repr(proof) for value in values or (PERSON,))
        return proof

    return run


def found(proof):
    return [(one.kind, Path(one.file).name) for one in proof.scanned.findings]


def test_a_lake_without_the_person_is_clean(look):
    proof = look()
    assert proof.is_clean
    assert proof.is_whole
    data = proof.scanned.amounts[Kind.DATA]
    assert (data.files, data.rows) == (2, 2)
    assert proof.scanned.amounts[Kind.LOG].files == 3
    assert any("data files: 2 files" in words for words in proof.scanned.words)


def rows(*texts, numbers=None):
    numbers = numbers or range(len(texts))
    return pa.table({"n": numbers, "text": texts}, schema=SCHEMA)


def parquet(table, **more):
    sink = io.BytesIO()
    pq.write_table(table, sink, **more)
    return sink.getvalue()


def nested():
    kind = pa.list_(pa.struct([("who", pa.map_(pa.string(), pa.list_(pa.string())))]))
    return pa.table({"deep": pa.array([[{"who": [("a", ["b", PERSON])]}]], kind)})


def tar(name, content, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def zipped(content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner", content)
    return out.getvalue()


def zstd(content):
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(content)
    return out.getvalue().to_pybytes()


def entry(**bounds):
    stats = json.dumps({"numRecords": 1, "minValues": bounds, "maxValues": bounds})
    return json.dumps({"add": {"path": "part-x.parquet", "size": NUMBER + 1, "stats": stats}})


TEXT = PERSON.encode()
MANY = [f"row {number}" for number in range(40_000)]

PLANTED = {
    "plain": TEXT,
    "in the middle of a large file": b"." * ((8 << 20) - 5) + TEXT + b"." * 1000,
    "json": json.dumps({"a": PERSON}).encode(),
    "json within json": json.dumps({"a": json.dumps({"b": PERSON})}).encode(),
    "slashes": json.dumps(PERSON).replace("/", "\\/").encode(),
    "gzip": gzip.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "zlib": zlib.compress(TEXT),
    "zstd": zstd(TEXT),
    "zip": zipped(TEXT),
    "tar": tar("x", TEXT),
    "gzip in tar in gzip": gzip.compress(tar("x", gzip.compress(TEXT))),
    "parquet in tar.gz": tar("c.parquet", parquet(rows(PERSON)), "w:gz"),
    "digits": b"id=987654321;",
}


@pytest.mark.parametrize("what", PLANTED)
def test_it_is_found_in_a_file_of_the_state(look, settings, what):
    (settings.state_dir / "planted").write_bytes(PLANTED[what])
    assert set(found(look())) == {(Kind.STATE, "planted")}


IN_PARQUET = {
    "text": parquet(rows("a", PERSON, "b")),
    "within a text": parquet(rows(f"to {PERSON}!")),
    "behind many": parquet(rows(*MANY, PERSON), compression="zstd"),
    "number": parquet(rows("a", numbers=[NUMBER])),
    "digits": parquet(rows(f"id {NUMBER}.")),
    "nested": parquet(nested()),
    "dictionary": parquet(pa.table({"t": pa.array(["x", PERSON]).dictionary_encode()})),
    "payload": parquet(pa.table({"value": [b"\x00\x01" + TEXT + b"\xff"]})),
    "payload of JSON": parquet(pa.table({"value": [json.dumps({"g": NUMBER}).encode()]})),
    "large text": parquet(pa.table({"t": pa.array([PERSON], pa.large_string())})),
    "in no statistics": parquet(rows(PERSON), write_statistics=False, compression="gzip"),
}


@pytest.mark.parametrize("what", IN_PARQUET)
def test_it_is_found_in_a_file_that_no_log_names(look, lake, what):
    (lake.path(UNO) / "part-planted.parquet").write_bytes(IN_PARQUET[what])
    assert set(found(look())) == {(Kind.DATA, "part-planted.parquet")}


def test_a_value_that_a_dictionary_has_and_no_row_is_found(lake):
    """As whoever filters rows of such a column leaves it."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0]), ["kept", PERSON])
    path = lake.path(UNO) / "part-planted.parquet"
    path.write_bytes(parquet(pa.table({"t": column}), write_statistics=False))
    assert PERSON not in str(pq.read_table(path, read_dictionary=[]).to_pylist())
    wanted = [Wanted(column="gamer", values=(PERSON,))]
    proof = prove(lake.settings, wanted, KEY, temporary=NOWHERE)
    assert "column t" in {one.where for one in proof.scanned.findings}


@pytest.mark.parametrize("bounds", [{"gamer": PERSON}, {"x": NUMBER}, {"x": f"a {NUMBER}"}])
def test_it_is_found_in_a_commits_statistics(lake, bounds):
    (lake.path(UNO) / "_delta_log" / f"{9:020}.json").write_text(entry(**bounds))
    proof = prove(
        lake.settings,
        [Wanted(column="gamer", values=(PERSON, str(NUMBER)))],
        KEY,
        temporary=NOWHERE,
    )
    assert [one.where for one in proof.scanned.findings] == ["an entry"]
    # As a size, a number is nobody's.
    wanted = [Wanted(column="gamer", values=(str(NUMBER + 1),))]
    assert prove(lake.settings, wanted, KEY, temporary=NOWHERE).is_clean


def test_it_is_found_in_an_old_version_and_its_checkpoint_until_its_history_ends(look, lake):
    file = lake.file(UNO, rows("marvin", PERSON))
    lake.committer.append([Commit(table=UNO, files=[file])], Batch("stream", 9))
    lake.committer.fresh(UNO).create_checkpoint()
    lake.committer.delete(UNO, f"text = '{PERSON}'")
    in_log = {name for kind, name in found(look()) if kind is Kind.LOG}
    # Of the commit that added it, a checkpoint of that, and the one that says by what it went.
    assert in_log == {f"{3:020}.json", f"{3:020}.checkpoint.parquet", f"{4:020}.json"}
    log = log_of(lake.store, UNO)
    end_history(log, lambda: lake.committer.fresh(UNO), lambda _: {})
    assert look().is_clean
    assert DeltaTable(lake.path(UNO)).to_pyarrow_table().num_rows == 3
    assert len(active_files(lake.committer.fresh(UNO))) == 3


def test_it_is_found_in_the_name_of_a_file_and_not_told(lake):
    folder = lake.path(UNO) / f"gamer=marvin{NUMBER}"
    folder.mkdir()
    (folder / "part-x.parquet").write_bytes(parquet(rows("a")))
    proof = prove(
        lake.settings, [Wanted(column="g", values=("marvin987654321",))], KEY, temporary=NOWHERE
    )
    (one,) = proof.scanned.findings
    assert one.where == "its name"
    assert one.file.endswith(f"{UNO.relative}/…")


def test_a_table_that_a_link_leads_to_is_looked_at_once(lake, settings, tmp_path):
    elsewhere = tmp_path / "disk"
    lake.path(UNO).rename(elsewhere)
    lake.path(UNO).symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(settings.lake_dir)
    (elsewhere / "part-planted.parquet").write_bytes(parquet(rows(PERSON)))
    proof = prove(settings, [Wanted(column="g", values=(PERSON,))], KEY, temporary=NOWHERE)
    assert {one.file for one in proof.scanned.findings} == {
        str(lake.path(UNO) / "part-planted.parquet")
    }
    assert proof.scanned.amounts[Kind.DATA].files == 3


def test_it_is_found_in_a_backup(look, settings, tmp_path):
    place = tmp_path / "backups"
    (place / "data").mkdir(parents=True)
    archive = tar(f"{1:020}.json", entry(gamer=PERSON).encode(), "w:gz")
    (place / "uno.tar.gz").write_bytes(archive)
    (place / "data" / "x.parquet").write_bytes(parquet(rows(PERSON)))
    (settings.state_dir / "backups.json").write_text(json.dumps({str(place): {"number": 1}}))
    assert set(found(look())) == {(Kind.BACKUP, "uno.tar.gz"), (Kind.BACKUP, "x.parquet")}


def test_it_is_found_in_dagsters_storage(look, settings):
    settings.dagster_home.mkdir()
    with sqlite3.connect(settings.dagster_home / "runs.db") as database:
        database.execute("create table events (body text)")
        database.execute("insert into events values (?)", ["x" * 5000 + PERSON])
    database.close()
    assert set(found(look())) == {(Kind.DAGSTER, "runs.db")}
    (settings.dagster_home / "dagster.yaml").write_text("storage:\n  postgres: {}\n")
    proof = look()
    assert [one.what for one in proof.scanned.unread] == ["Dagster's storage in PostgreSQL"]


def test_it_is_found_in_temporary_files(lake, tmp_path):
    folder = tmp_path / "temporary" / "spark-1" / "userFiles"
    folder.mkdir(parents=True)
    with pa.OSFile(str(folder / "0"), "wb") as file, pa.ipc.new_stream(file, SCHEMA) as stream:
        stream.write_table(rows(PERSON))
    wanted = [Wanted(column="g", values=(PERSON,))]
    proof = prove(lake.settings, wanted, KEY, temporary=tmp_path / "temporary")
    assert [one.kind for one in proof.scanned.findings] == [Kind.SPILL]


def test_it_is_found_in_blocks_that_a_spark_job_wrote(lake, tmp_path):
    folder = tmp_path / "temporary" / "blockmgr-1" / "0c"
    folder.mkdir(parents=True)
    # Two streams one after the other, as of two partitions; each ends with a block of nothing.
    (folder / "shuffle_0_0_0.data").write_bytes(2 * blocks(b"x" * 999, TEXT * 9))
    (folder / "torn").write_bytes(blocks(b"x" * 999)[:30])
    wanted = [Wanted(column="g", values=(PERSON,))]
    scanned = prove(lake.settings, wanted, KEY, temporary=tmp_path / "temporary").scanned
    assert "unpacked: its bytes" in {one.where for one in scanned.findings}
    assert [Path(one.what).name for one in scanned.unread] == ["torn"]


def blocks(*contents):
    out = b""
    for content in contents:
        packed = pa.compress(content, codec="lz4_raw", asbytes=True)
        out += b"LZ4Block" + struct.pack("<Biii", 0x26, len(packed), len(content), 0) + packed
    return out + b"LZ4Block" + struct.pack("<Biii", 0x16, 0, 0, 0)


def test_what_cannot_be_read_is_told(look, lake, settings):
    torn = parquet(rows("a"))
    (lake.path(UNO) / "part-torn.parquet").write_bytes(torn[:20] + torn[40:])
    (settings.state_dir / "torn.gz").write_bytes(gzip.compress(b"x" * 1000)[:-20])
    (settings.state_dir / "blocks").write_bytes(b"\xff\x06\x00\x00sNaPpY...")
    proof = look()
    assert proof.is_clean
    assert {Path(one.what).name for one in proof.scanned.unread} == {
        "part-torn.parquet",
        "torn.gz",
        "blocks",
    }


def test_base64_and_hexadecimal_digits_are_found(settings):
    name = "zaphod-beeblebrox"
    for before in ("", "a", "ab"):
        text = base64.b64encode(f"{before}{name}, president".encode())
        (settings.state_dir / f"b{len(before)}").write_bytes(text)
    (settings.state_dir / "hex").write_text(name.encode().hex().upper())
    proof = prove(settings, [Wanted(column="g", values=(name,))], KEY, temporary=NOWHERE)
    assert {Path(one.file).name for one in proof.scanned.findings} == {"b0", "b1", "b2", "hex"}


def test_whole_numbers_in_messages_are_found(lake, settings):
    message = b"\x0a\x03abc\x18\xb1\xd1\xf9\xd6\x03"  # "abc", and 987654321
    near = b"\x0a\x09abcd\xb1\xd1\xf9\xd6\x03"  # its bytes in a text
    table = pa.table({"value": [b"\0\0\0\0\7\0" + near, None, b"\0\0\0\0\7\0" + message]})
    path = lake.path(UNO) / "part-planted.parquet"
    wanted = [Wanted(column="g", values=(str(NUMBER),))]
    for rows_, columns in ((table, ["column value"]), (table.slice(0, 2), [])):
        path.write_bytes(parquet(rows_))
        proof = prove(settings, wanted, KEY, temporary=NOWHERE)
        assert [one.where for one in proof.scanned.findings] == columns


def test_findings_are_named_by_hashes(settings):
    (settings.state_dir / "planted").write_bytes(TEXT)
    wanted = [Wanted(column="Gamer", values=("trillian", PERSON))]
    (one,) = prove(settings, wanted, KEY, temporary=NOWHERE).scanned.findings
    assert one.value == 1
    assert one.digest == digest_of(KEY, "gamer", PERSON)


def test_short_values_are_looked_for_in_columns(lake, settings):
    path = lake.path(UNO) / "part-planted.parquet"
    path.write_bytes(parquet(rows("ab", "cab", numbers=[17, 42])))

    def columns(name, value):
        wanted = [Wanted(column=name, values=(value,))]
        proof = prove(settings, wanted, KEY, temporary=NOWHERE)
        return [one.where for one in proof.scanned.findings]

    assert columns("g", "ab") == ["column text"]
    assert columns("g", "ca") == []
    assert columns("n", "42") == ["column n"]
    assert columns("g", "42") == []


def test_a_hundred_values_are_found_in_one_pass(settings):
    names = [f"gamer {number} of many" for number in range(250)]
    (settings.state_dir / "planted").write_text("\n".join(names[::2]))
    wanted = [Wanted(column="g", values=tuple(names))]
    proof = prove(settings, wanted, KEY, temporary=NOWHERE)
    assert sorted(one.value for one in proof.scanned.findings) == list(range(0, 250, 2))


def test_a_lake_and_backups_in_a_bucket_are_looked_at(settings, bucket, s3):
    options = {name: SecretStr(value) for name, value in s3.options.items()}
    found = settings.model_copy(
        update={
            "lake": f"s3://{bucket}/lake",
            "storage": StorageSettings(options=options),
            "backup": BackupSettings(target=f"s3://{bucket}/backups", options=options),
        }
    )
    made = WrittenLake(found, "games")
    made.create(UNO, "uno")
    file = made.file(UNO, rows("marvin", PERSON))
    made.committer.append([Commit(table=UNO, files=[file])], Batch("stream", 9))
    made.committer.close()
    place = LakeUri.parse(f"s3://{bucket}/backups")
    with made.store.open_for_writing(place / "uno.tar.gz") as stream:
        stream.write(tar("x", TEXT, "w:gz"))
    wanted = [Wanted(column="text", values=(PERSON,))]
    proof = prove(found, wanted, KEY, temporary=NOWHERE)
    assert proof.is_whole
    files = {one.file.removeprefix(f"s3://{bucket}/") for one in proof.scanned.findings}
    assert files == {name.partition("/")[2] for name in holders(objects_of(s3.url, bucket), PERSON)}
    assert len(files) == 3
    assert proof.scanned.amounts[Kind.DATA].rows == 2


def test_expressions_stay_as_short_as_the_engine_takes_them():
    names = tuple(f"p{number}@mail.example/ü" for number in range(300))
    sought = Sought.of([Wanted(column="g", values=names)])
    texts = pa.array([f"{name} and more".encode() for name in names], pa.large_binary())
    began = time.process_time()
    assert sought.in_texts(pa.concat_arrays([texts] * 100)) == set(range(300))
    assert time.process_time() - began < 20  # 0.3 s; with longer ones, minutes


def test_the_independent_scanner_finds_what_is_planted():
    planted = PLANTED | {f"parquet: {what}": content for what, content in IN_PARQUET.items()}
    assert [what for what, content in planted.items() if not has(content, PERSON, NUMBER)] == []
    assert not has(parquet(rows("a", "b")), PERSON, NUMBER)
