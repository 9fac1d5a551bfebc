import pytest
from pydantic import ValidationError

from lake_assets.errors import FeedError
from lake_assets.model.payload import Payload
from lake_assets.model.subjects import Subjects, one_subject

FORMATS = ("avro", "protobuf", "json")


def payload(form="avro", **declared):
    return Payload.model_validate({form: declared})


@pytest.mark.parametrize("form", FORMATS)
def test_subjects_are_named_or_found_by_a_pattern(form):
    named, found = payload(form, subjects=["b", "a"]), payload(form, subjects=r"play-com\.acme\..*")
    assert named.subjects == Subjects(names=("b", "a"))
    assert found.subjects == Subjects(pattern=r"play-com\.acme\..*")
    assert found.subjects.takes("play-com.acme.Uno")
    assert not found.subjects.takes("xplay-com.acme.Uno")
    assert not found.subjects.takes("play-comxacme.Uno")
    assert (named.subjects.takes("a"), named.subjects.takes("c")) == (True, False)
    assert named.needs_registry
    assert found.needs_registry
    assert payload(form, subject="a").subjects is None


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"subject": "a", "subjects": ["b"]}, "give either `subject` or `subjects`"),
        ({"subjects": []}, "at least 1 item"),
        ({"subjects": ""}, "at least 1"),
        ({"subjects": ["a", "b", "a"]}, "two subjects are called a"),
        ({"subjects": ["a", " "]}, "subjects: a name is empty"),
        ({"subjects": "a(b"}, r"subjects: 'a\(b' is no regular expression"),
        ({"subjects": [1]}, "valid string"),
        ({"subjects": {"a": 1}}, "valid"),
    ],
)
def test_other_subjects_are_refused(form, declared, problem):
    with pytest.raises(ValidationError, match=problem):
        payload(form, **declared)


def test_only_avro_may_have_no_subject_since_its_files_bring_schemas():
    for form in ("protobuf", "json"):
        with pytest.raises(ValidationError, match="subject"):
            payload(form)
    brought, registered = payload("avro"), payload("avro", subject="a")
    assert (brought.brings_schemas, brought.needs_registry) == (True, False)
    assert (registered.brings_schemas, registered.needs_registry) == (False, True)
    assert brought.has_versions
    assert brought.has_messages
    assert registered.has_versions
    assert not payload("json", schema="a int").has_versions


def test_what_goes_with_one_subject_or_none_does_not_go_with_several():
    with pytest.raises(ValidationError, match="`message` is of one `subject`"):
        payload("protobuf", subjects=["a"], message="acme.Uno")
    for more in ({"schema": "a int"}, {"infer": True}):
        with pytest.raises(ValidationError, match="columns come from one of them"):
            payload("json", subjects=["a"], **more)
    with pytest.raises(ValidationError, match="on_unknown adds none"):
        payload("json", subjects=["a"], on_unknown="add_columns")


def test_they_are_told_in_words():
    assert Subjects(names=("a", "b")).title == "subjects 'a', 'b'"
    assert Subjects(names=tuple("abcde")).label == "a, b, c and 2 more"
    assert Subjects(pattern="a.*").title == "subjects that match 'a.*'"
    assert Subjects(pattern="a.*").label == "a.*"


def test_who_wants_one_subject_is_told_that_there_are_several():
    with pytest.raises(FeedError, match="has subjects 'a', 'b', and one is wanted"):
        assert payload(subjects=["a", "b"]).subject
    assert one_subject(payload(subject="a").declared, "avro") == "a"
    with pytest.raises(FeedError, match="is csv, which has no subject"):
        one_subject(object(), "csv")
