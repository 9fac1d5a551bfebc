import pytest

from lake_assets.delta.commit import DataFile
from lake_assets.delta.increments import Point
from lake_assets.sinks.batches import Part, SinkBatch, read_note, write_note
from lake_assets_tests.sample import silver_of


def test_a_note_is_read_as_it_was_written(tmp_path):
    file = DataFile(path="part-1.parquet", size=7, rows=2, stats="{}", partition={"day": None})
    part = Part(
        table=silver_of("uno"),
        after=Point(version=3),
        until=Point(version=5, digest="ab"),
        files=(file,),
        has_other_columns=True,
    )
    batch = SinkBatch(number=4, parts=(part,))
    note = tmp_path / "sinks" / "a.json"
    write_note(note, batch)
    assert read_note(note) == batch


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"number": "x", "parts": []}', '{"number": 1, "parts": [{}]}']
)
def test_a_note_that_is_torn_is_none(tmp_path, text):
    (tmp_path / "note").write_text(text)
    assert read_note(tmp_path / "note") is None


def test_a_note_that_is_not_there_is_none(tmp_path):
    assert read_note(tmp_path / "note") is None
