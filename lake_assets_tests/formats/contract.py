"""What each payload format promises (`formats.base`), as tests that any of them can run."""

import pickle
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import Decoded, Decoder, PayloadFormat
from lake_assets.formats.questions import NewColumnsQuestion


def check_format(payload_format: PayloadFormat[Any], bronze: pa.RecordBatch) -> Decoder:
    """Plan from nothing, and answer questions until rows raise none; the last plan comes back."""
    schemas = payload_format.newest()
    decoder = payload_format.plan(schemas, pa.schema([]), ())
    asked: set[object] = set()
    while (found := check_decoder(decoder, bronze)).questions:
        assert asked.isdisjoint(found.questions)
        asked.update(found.questions)
        schemas = payload_format.resolve(schemas, frozenset(found.questions))
        decoder = payload_format.plan(schemas, decoder.columns, ())
    again = payload_format.plan(schemas, decoder.columns, ())
    assert again.columns == decoder.columns
    return decoder


def check_decoder(decoder: Decoder, bronze: pa.RecordBatch) -> Decoded:
    """Decode rows together, one by one, none of them, and in another process' copy of the plan."""
    whole = decoder.decode(bronze)
    assert whole.columns.schema == decoder.columns
    answers = _answers(whole)
    assert len(answers) == bronze.num_rows
    for row, reason, detail, question in answers:
        is_decoded = reason is None and question is None
        assert is_decoded or not (reason and question)
        assert is_decoded or all(value is None for value in row.values())
        assert detail is None or reason is not None
    copy = pickle.loads(pickle.dumps(decoder))  # noqa: S301 - our own bytes
    assert _answers(copy.decode(bronze)) == answers
    alone = [decoder.decode(bronze.slice(at, 1)) for at in range(bronze.num_rows)]
    assert _each([_answers(one)[0] for one in alone]) == _each(answers)
    assert _answers(decoder.decode(bronze.slice(0, 0))) == []
    assert set(whole.questions) == {question for *_, question in answers if question}
    return whole


def _answers(found: Decoded) -> list[tuple[Any, ...]]:
    asked = (None if i is None else found.questions[i] for i in found.question.to_pylist())
    parts = (found.columns.to_pylist(), found.reason.to_pylist(), found.detail.to_pylist(), asked)
    return list(zip(*parts, strict=True))


def _each(answers: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Answers to compare where rows were together with others: what they ask for is told as one."""
    return [(*rest, _asked(question)) for *rest, question in answers]


def _asked(question: object) -> object:
    return NewColumnsQuestion if isinstance(question, NewColumnsQuestion) else question
