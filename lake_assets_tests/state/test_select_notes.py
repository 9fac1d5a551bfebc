import json

import pytest

from lake_assets.state.select_notes import SelectedColumn, SelectNote, note_select, read_select

SELECT = ("*", "a + 1 as b")

NOTE = SelectNote(
    select=SELECT,
    columns={
        "a": SelectedColumn(reads=("a",), is_copy=True),
        "b": SelectedColumn(reads=("a",), is_copy=False, spark_part="(a + 1)"),
    },
)


def test_a_note_is_read_back(tmp_path):
    assert read_select(tmp_path, "mine", SELECT) is None
    note_select(tmp_path, "mine", NOTE)
    assert read_select(tmp_path, "mine", SELECT) == NOTE


def test_a_note_of_other_items_tells_nothing(tmp_path):
    note_select(tmp_path, "mine", NOTE)
    assert read_select(tmp_path, "mine", ("*",)) is None
    assert read_select(tmp_path, "yours", SELECT) is None


def test_a_note_that_is_there_is_not_written_again(tmp_path):
    note_select(tmp_path, "mine", NOTE)
    (file,) = tmp_path.rglob("*.json")
    inode = file.stat().st_ino
    note_select(tmp_path, "mine", NOTE)
    assert file.stat().st_ino == inode


@pytest.mark.parametrize("text", [b"", b"{", b'{"select": 3}', b"\xff\xfe"])
def test_a_damaged_note_tells_nothing_and_is_replaced(tmp_path, text):
    note_select(tmp_path, "mine", NOTE)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(text)
    assert read_select(tmp_path, "mine", SELECT) is None
    note_select(tmp_path, "mine", NOTE)
    assert read_select(tmp_path, "mine", SELECT) == NOTE


def test_keys_have_their_own_columns_or_those_of_all_others(tmp_path):
    selects, own = {"poker": ("b",)}, {"b": NOTE.columns["b"]}
    note = SelectNote(
        select=SELECT,
        columns=NOTE.columns,
        selects=selects,
        by_key={"": {"a": NOTE.columns["a"]}, "poker": own},
    )
    note_select(tmp_path, "mine", note)
    assert read_select(tmp_path, "mine", SELECT) is None
    read = read_select(tmp_path, "mine", SELECT, selects)
    assert read == note
    assert read.of_key("poker") == own
    assert [*read.of_key("uno")] == ["a"]
    assert NOTE.of_key("uno") == NOTE.columns


def test_a_note_of_an_older_release_is_of_all_keys(tmp_path):
    note_select(tmp_path, "mine", NOTE)
    (file,) = tmp_path.rglob("*.json")
    older = json.loads(file.read_text())
    del older["selects"], older["by_key"]
    file.write_text(json.dumps(older))
    assert read_select(tmp_path, "mine", SELECT) == NOTE
