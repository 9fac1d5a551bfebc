import resource
import shutil

import pytest

from lake_assets.errors import ExportError
from lake_assets.export.folder import open_folder
from lake_assets.export.record import Record


def counted(folder, number, after):
    return Record(
        topic=folder.topic,
        cluster=None,
        identity=None,
        format="jsonl",
        number=number,
        offsets={0: after},
    )


def written(path, after, topic="t"):
    """An export of one file more, up to an offset; its name."""
    with open_folder(path, topic) as folder:
        number = folder.record.number if folder.record else 0
        first = folder.record.offsets[0] if folder.record else 0
        with folder.part(number, 0, first) as part:
            part.write(b"x" * (after - first))
            return str(folder.place(part, after, counted(folder, number + 1, after)))


def record_of(path):
    with open_folder(path, "t") as folder:
        return folder.record


def names(path):
    return sorted(one.name for one in path.iterdir())


HIDDEN = [".t.export.json", ".t.export.lock"]


def test_files_and_their_record_are_there_together(tmp_path):
    path = tmp_path / "a" / "b"
    assert written(path, 3) == "t-000000000-p0-0-3.jsonl"
    assert written(path, 5) == "t-000000001-p0-3-5.jsonl"
    assert (path / "t-000000001-p0-3-5.jsonl").read_bytes() == b"xx"
    assert names(path) == [*HIDDEN, "t-000000000-p0-0-3.jsonl", "t-000000001-p0-3-5.jsonl"]
    assert record_of(path).offsets == {0: 5}


def test_what_was_not_placed_is_gone(tmp_path):
    with open_folder(tmp_path, "t") as folder, folder.part(0, 0, 0) as part:
        part.write(b"x")
        assert names(tmp_path) == [".t-000000000-p0-0.part", ".t.export.lock"]
    assert names(tmp_path) == [".t.export.lock"]


def test_what_a_kill_left_is_dropped_and_that_of_other_topics_and_people_stays(tmp_path):
    written(tmp_path, 3)
    others = [".t-x-000000000-p0-0.part", ".mine.part", "t.jsonl", "..t-x.export.json.abc"]
    for name in (".t-000000001-p0-3.part", "..t.export.json.a1b2c3", *others):
        (tmp_path / name).touch()
    record_of(tmp_path)
    assert names(tmp_path) == sorted([*HIDDEN, "t-000000000-p0-0-3.jsonl", *others])


def test_a_file_that_was_counted_gets_its_name(tmp_path):
    name = written(tmp_path, 3)
    (tmp_path / name).rename(tmp_path / ".t-000000000-p0-0.part")
    assert record_of(tmp_path).offsets == {0: 3}
    assert names(tmp_path) == [*HIDDEN, name]


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_copy_that_has_the_begin_of_a_counted_file_exports_it_again(tmp_path, is_seen):
    """The hidden file was copied while it was written, and the record after that."""
    written(tmp_path, 3)
    name = written(tmp_path, 8)
    (tmp_path / ".t-000000001-p0-3.part").write_bytes(b"xx")
    if not is_seen:
        (tmp_path / name).unlink()
    record = record_of(tmp_path)
    assert record.offsets == {0: 8 if is_seen else 3}
    files = [one for one in names(tmp_path) if one not in HIDDEN]
    assert files == ["t-000000000-p0-0-3.jsonl", name][: 1 + is_seen]
    assert not is_seen or (tmp_path / name).read_bytes() == b"xxxxx"


def test_files_behind_an_older_record_are_counted(tmp_path):
    written(tmp_path, 3)
    shutil.copy(tmp_path / ".t.export.json", tmp_path / "older")
    written(tmp_path, 5)
    written(tmp_path, 8)
    shutil.move(tmp_path / "older", tmp_path / ".t.export.json")
    record = record_of(tmp_path)
    assert (record.offsets, record.number) == ({0: 8}, 3)
    assert record_of(tmp_path) == record


def test_files_behind_a_hole_are_refused(tmp_path):
    written(tmp_path, 3)
    shutil.copy(tmp_path / ".t.export.json", tmp_path / "older")
    (tmp_path / written(tmp_path, 5)).unlink()
    written(tmp_path, 8)
    shutil.move(tmp_path / "older", tmp_path / ".t.export.json")
    with pytest.raises(
        ExportError, match=r"has t-000000002-p0-5-8\.jsonl, and its record ends at of"
    ):
        record_of(tmp_path)


def test_files_without_their_record_are_refused(tmp_path):
    written(tmp_path, 3)
    (tmp_path / ".t.export.json").unlink()
    with pytest.raises(ExportError, match=r"and not its record\. Put \.t\.export\.json back"):
        record_of(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b'{"topic": "t"}', b"\xff"])
def test_a_torn_record_is_refused_and_stays(tmp_path, content):
    written(tmp_path, 3)
    (tmp_path / ".t.export.json").write_bytes(content)
    with pytest.raises(ExportError, match=r"is no record of an export, or damaged.*from a copy"):
        record_of(tmp_path)
    assert (tmp_path / ".t.export.json").read_bytes() == content


@pytest.mark.parametrize("placing", ["../t-000000002-p0-0-3.jsonl", "/etc/passwd", "x"])
def test_a_record_that_names_what_is_no_file_of_it_is_refused(tmp_path, placing):
    written(tmp_path, 3)
    text = record_of(tmp_path).model_copy(update={"placing": placing}).text()
    (tmp_path / ".t.export.json").write_text(text)
    with pytest.raises(ExportError, match="is no record of an export, or damaged"):
        record_of(tmp_path)


def test_a_record_of_another_topic_is_refused(tmp_path):
    written(tmp_path, 3, topic="other")
    (tmp_path / ".other.export.json").rename(tmp_path / ".t.export.json")
    with pytest.raises(ExportError, match="record of an export of topic 'other', not of 't'"):
        record_of(tmp_path)


def test_two_topics_share_a_folder(tmp_path):
    written(tmp_path, 3)
    written(tmp_path, 4, topic="t-x")
    assert record_of(tmp_path).offsets == {0: 3}


def test_a_folder_that_is_being_exported_into_is_refused(tmp_path):
    with (
        open_folder(tmp_path, "t"),
        pytest.raises(ExportError, match="another process exports topic 't' into it"),
        open_folder(tmp_path, "t"),
    ):
        pass


@pytest.mark.parametrize("below", ["", "below"])
def test_a_file_is_no_folder(tmp_path, below):
    (tmp_path / "file").touch()
    with pytest.raises(ExportError, match=r"is none: a file is there\. Name another folder"):
        record_of(tmp_path / "file" / below)


def test_a_disk_that_takes_no_more_is_told_and_leaves_what_there_was(tmp_path):
    name = written(tmp_path, 3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(
            ExportError, match=r"cannot be written \(File too large\).*free some sp"
        ):
            written(tmp_path, 10_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == [*HIDDEN, name]
    assert record_of(tmp_path).offsets == {0: 3}
    assert written(tmp_path, 5) == "t-000000001-p0-3-5.jsonl"
