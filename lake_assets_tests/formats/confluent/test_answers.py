import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference

from lake_assets.formats.confluent.answers import (
    UnexpectedAnswerError,
    id_in,
    kind_in,
    number_in,
    numbers_in,
    references_in,
    subjects_in,
    text_in,
)


def test_what_is_as_it_must_be_is_taken():
    assert subjects_in(["a", "b"]) == ("a", "b")
    assert numbers_in([1, 2]) == [1, 2]
    assert id_in(2**32 - 1) == 2**32 - 1
    assert (kind_in(Schema("", "JSON")), kind_in(Schema("", None))) == ("JSON", "AVRO")
    assert text_in(Schema("")) == ""
    newest = SchemaReference("r", "s", -1)
    assert references_in(Schema("", references=[newest])) == [("r", "s", -1)]
    assert references_in(Schema("", references=None)) == []


@pytest.mark.parametrize("wrong", [None, "s", {"a": 1}, 1, True, [None], [[]], [{"a": 1}]])
def test_lists_of_another_kind_are_refused(wrong):
    for read in (subjects_in, numbers_in):
        with pytest.raises(UnexpectedAnswerError):
            read(wrong)


@pytest.mark.parametrize("wrong", [None, True, 0, -1, 1.0, "1", [1]])
def test_what_is_no_number_is_refused(wrong):
    for read in (number_in, id_in):
        with pytest.raises(UnexpectedAnswerError):
            read(wrong)


def test_an_id_that_no_row_can_have_is_refused():
    with pytest.raises(UnexpectedAnswerError, match="no id"):
        id_in(2**32)


@pytest.mark.parametrize(
    "wrong", [(None, "s", 1), ("r", "", 1), ([], "s", 1), ("r", "s", "latest"), ("r", "s", True)]
)
def test_a_reference_that_does_not_say_to_what_is_refused(wrong):
    with pytest.raises(UnexpectedAnswerError, match="does not say to what"):
        references_in(Schema("", references=[SchemaReference(*wrong)]))
