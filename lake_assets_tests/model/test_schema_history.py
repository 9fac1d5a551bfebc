from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lake_assets.model.schema_history import (
    Reason,
    RegisteredVersion,
    SchemaEntry,
    Why,
    changes,
    selected_alone,
)

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
DECLARED = Reason(Why.DECLARED)
FIRST = RegisteredVersion(version=1, schema_id=7, schema=b"one")


def declared(*_):
    return DECLARED


def kept(entries, at=AT):
    return [replace(entry, at=at) for entry in entries]


def told(entries):
    return [(e.key, e.column, e.type, e.before, e.reason.why.value) for e in entries]


def test_the_first_look_at_tables_tells_of_all_their_columns():
    new = changes([], {"uno": {"a": "int", "b": "string"}, "chess": {"a": "int"}}, [], declared)
    assert told(new) == [
        ("uno", "a", "int", None, "declared"),
        ("uno", "b", "string", None, "declared"),
        ("chess", "a", "int", None, "declared"),
    ]


def test_what_is_kept_is_not_told_again_and_other_keys_are_left_alone():
    first = kept(changes([], {"uno": {"a": "int"}, "chess": {"a": "int"}}, [FIRST], declared))
    assert changes(first, {"uno": {"a": "int"}}, [FIRST], declared) == []
    assert changes(first, {}, [], declared) == []


def test_a_wider_type_is_told_with_what_it_was_and_the_newest_entry_counts():
    first = kept(changes([], {"uno": {"a": "int"}}, [], declared))
    wider = changes(first, {"uno": {"a": "bigint"}}, [], lambda *_: Reason(Why.INFERRED))
    assert told(wider) == [("uno", "a", "bigint", "int", "inferred")]
    later = kept(wider, AT + timedelta(seconds=1))
    assert changes([*later, *first], {"uno": {"a": "bigint"}}, [], declared) == []


def test_a_column_that_is_gone_is_told_once_and_may_come_back():
    first = kept(changes([], {"uno": {"a": "int", "b": "int"}}, [], declared))
    gone = changes(first, {"uno": {"b": "int"}}, [], declared)
    assert told(gone) == [("uno", "a", None, "int", "dropped")]
    both = [*first, *kept(gone, AT + timedelta(seconds=1))]
    assert changes(both, {"uno": {"b": "int"}}, [], declared) == []
    back = changes(both, {"uno": {"a": "int", "b": "int"}}, [], declared)
    assert told(back) == [("uno", "a", "int", None, "declared")]


def test_a_version_is_told_once_and_again_if_a_registry_gave_its_id_to_another():
    second = RegisteredVersion(version=2, schema_id=9, schema=b"", note="is not valid")
    new = changes([], {}, [second, FIRST], declared)
    assert [(e.reason.version, e.reason.schema_id, e.schema, e.note) for e in new] == [
        (1, 7, b"one", None),
        (2, 9, b"", "is not valid"),
    ]
    other = replace(FIRST, schema=b"other")
    (again,) = changes(kept(new), {}, [other, second], declared)
    assert again.schema == b"other"
    entry = SchemaEntry(key="uno", column="a", type="int", reason=DECLARED, at=AT)
    assert changes([entry], {"uno": {"a": "int"}}, [], declared) == []


def test_versions_are_of_their_subjects_and_those_of_an_earlier_release_are_not_noted_again():
    one = RegisteredVersion(version=1, schema_id=7, schema=b"x")
    noted = changes([], {}, [one], lambda *_: Reason(Why.FOUND))
    named = [replace(one, subject=subject) for subject in ("a", "b")]
    assert changes(noted, {}, named, lambda *_: Reason(Why.FOUND)) == []
    again = changes([], {}, named, lambda *_: Reason(Why.FOUND))
    assert [entry.reason.subject for entry in again] == ["a", "b"]
    assert [entry.registered for entry in again] == named
    assert changes(again, {}, named, lambda *_: Reason(Why.FOUND)) == []


def entry(key, column, why, kind="int", at=AT):
    reason = Reason(why)
    return SchemaEntry(key=key, column=column, type=kind, before=None, reason=reason, at=at)


def test_what_a_select_made_wherever_it_is_is_told_by_each_table_s_last_entry():
    later = AT + timedelta(seconds=1)
    entries = [
        entry("uno", "twice", Why.SELECTED),
        entry("chess", "found", Why.FOUND),
        entry("uno", "both", Why.SELECTED),
        entry("chess", "both", Why.INFERRED),
        entry("uno", "brought", Why.INFERRED, at=later),
        entry("uno", "brought", Why.SELECTED),
        entry("uno", "left", Why.DROPPED, None, at=later),
        entry("uno", "left", Why.SELECTED),
        *kept(changes([], {}, [FIRST], declared)),
    ]
    assert selected_alone(entries) == {"twice"}
    assert selected_alone([]) == frozenset()
