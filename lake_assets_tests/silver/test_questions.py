import pytest

from lake_assets.formats.questions import (
    MessageQuestion,
    NewColumnsQuestion,
    SchemaIdQuestion,
    WrappedQuestion,
)
from lake_assets.silver.questions import KeyQuestion, SqlQuestion, decoded, encoded

QUESTIONS = [
    SchemaIdQuestion(2**32 - 1),
    MessageQuestion(17, (2, 0)),
    NewColumnsQuestion((("steps", "bigint"), ("at", "struct<`x`: double>"))),
    KeyQuestion('a "key", = [1]'),
    SqlQuestion("lower"),
    WrappedQuestion(SchemaIdQuestion(17)),
    WrappedQuestion(MessageQuestion(17, (2, 0))),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_comes_back_as_it_was(question):
    assert decoded(encoded(question)) == question


def test_questions_that_differ_differ_as_text():
    assert len({encoded(question) for question in QUESTIONS}) == len(QUESTIONS)
