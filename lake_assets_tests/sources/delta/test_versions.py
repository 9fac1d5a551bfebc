import pytest

from lake_assets.errors import SourceError
from lake_assets.sources.delta.versions import DELETE, INSERT, FileOrigin, appended, changed

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


CDC = ("cdc", {"path": "_change_data/d", "dataChange": False})


def never():
    raise AssertionError("was asked without need")


@pytest.mark.parametrize(
    ("actions", "paths"),
    [
        ([ADD], [("a", INSERT)]),
        ([ADD, REMOVE, CDC], [("_change_data/d", "")]),
        (MOVED, []),
        ([("commitInfo", {"operation": "OPTIMIZE"}), *MOVED], []),
    ],
)
def test_changes_are_what_files_of_changes_have_or_else_what_came(actions, paths):
    found = changed("t", 1, actions, is_recorded=never)
    assert [(action["path"], change) for action, change in found] == paths


def test_rows_of_a_file_that_went_are_deleted_before_those_that_came_are_inserted():
    found = changed("t", 1, [ADD, REMOVE], is_recorded=lambda: True)
    assert [(action["path"], change) for action, change in found] == [("b", DELETE), ("a", INSERT)]


def test_changes_that_nobody_recorded_are_refused():
    actions = [("commitInfo", {"operation": "MERGE"}), ADD, REMOVE]
    with pytest.raises(SourceError, match=r"rows in its version 1 \(MERGE\) and did not record"):
        changed("t", 1, actions, is_recorded=lambda: False)


@pytest.mark.parametrize("kind", ["add", "remove"])
def test_changes_that_deletion_vectors_alone_tell_are_refused(kind):
    action = (kind, {"path": "a", "deletionVector": {"cardinality": 1}})
    with pytest.raises(SourceError, match="by deletion vectors alone"):
        changed("t", 1, [action], is_recorded=lambda: True)
    assert changed("t", 1, [action, CDC], is_recorded=never)


@pytest.mark.parametrize("text", ["7", "", "{}", "[]", "jsonl utf-8", '{"table": "a"}'])
def test_what_another_source_noted_is_no_origin(text):
    assert FileOrigin.of(text) is None


def test_an_origin_comes_back_from_its_text():
    origin = FileOrigin(table="é", version=3, partition={"day": "2026-01-01", "n": 1})
    assert FileOrigin.of(origin.text) == origin
    assert origin.further == origin.partition


def test_what_rows_of_a_file_are_comes_back_and_is_a_column_of_theirs():
    origin = FileOrigin(table="t", version=3, partition={"n": 1}, change=DELETE)
    assert FileOrigin.of(origin.text) == origin
    assert origin.further == {"n": 1, "_change_type": DELETE}
