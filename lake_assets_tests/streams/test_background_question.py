import threading

import pytest

from lake_assets.streams.background_question import BackgroundQuestion


def test_who_asks_goes_on_and_finds_the_answer_later():
    answer = threading.Event()

    def ask():
        answer.wait(60)

    question = BackgroundQuestion(ask)
    assert not question.is_answered(0.0)
    answer.set()
    assert question.is_answered(None)
    question.ensure()


def test_what_is_raised_is_raised_to_whoever_asked():
    def refuse():
        raise ValueError("no")

    question = BackgroundQuestion(refuse)
    assert question.is_answered(None)
    with pytest.raises(ValueError, match="no"):
        question.ensure()
