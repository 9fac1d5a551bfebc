import pytest

from lake_assets.errors import SourceError
from lake_assets.sources.delta.versions import FileOrigin, appended

ADD = ("add", {"path": "a", "dataChange": True})
REMOVE = ("remove", {"path": "b", "dataChange": True})
MOVED = [
    ("add", {"path": "c", "dataChange": False}),
    ("remove", {"path": "a", "dataChange": False}),
]


def test_a_compaction_appends_nothing():
    assert appended("t", 1, MOVED, skips_changes=False) == []


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ([("commitInfo", {"operation": "MERGE"}), ADD, REMOVE], "version 1 (MERGE)"),
        ([("commitInfo", {"operation": "RESTORE"}), ADD], "version 1 (RESTORE)"),
        ([REMOVE], "version 1 (unnamed)"),
    ],
)
def test_rows_that_change_are_refused_or_passed_over_as_a_whole(actions, told):
    with pytest.raises(SourceError) as refused:
        appended("t", 1, actions, skips_changes=False)
    assert told in str(refused.value)
    assert appended("t", 1, actions, skips_changes=True) == []


def test_a_file_with_deleted_rows_is_refused():
    add = ("add", {**ADD[1], "deletionVector": {"cardinality": 1}})
    with pytest.raises(SourceError, match="deletion vector"):
        appended("t", 1, [add], skips_changes=True)


@pytest.mark.parametrize("text", ["", "{}", "[]", "jsonl utf-8", '{"table": "a"}'])
def test_what_another_source_noted_is_no_origin(text):
    assert FileOrigin.of(text) is None


def test_an_origin_comes_back_from_its_text():
    origin = FileOrigin(table="é", version=3, partition={"day": "2026-01-01", "n": 1})
    assert FileOrigin.of(origin.text) == origin
