"""What tasks ask the driver before rows can be placed, and how it travels: as text in the manifest.

A format's questions are the format's; those of a new key and of Spark's judgement are silver's.
"""

import json
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias, get_args

from lake_assets.formats import questions


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """Whether a key that is new gets its tables."""

    key: str


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """That Spark must judge the batch, since Arrow is not sure of a value."""

    operation: str
    """The one that was not sure: `lower`."""


@dataclass(frozen=True, slots=True)
class RouteQuestion:
    """That Spark must compute what routes read, since Arrow is not sure of a value."""

    operation: str
    """The one that was not sure: `lower`."""


Question: TypeAlias = questions.Question | KeyQuestion | SqlQuestion | RouteQuestion

_KINDS = {kind.__name__: kind for kind in get_args(Question)}


def encoded(question: Question) -> str:
    """A question as text: its name and values, in JSON."""
    if isinstance(question, questions.WrappedQuestion):
        values: tuple[Any, ...] = (encoded(question.question),)
    else:
        values = astuple(question)
    return json.dumps([type(question).__name__, *values], separators=(",", ":"))


def decoded(text: str) -> Question:
    """The question that `encoded` made a text of."""
    name, *values = json.loads(text)
    if _KINDS[name] is questions.WrappedQuestion:
        return questions.WrappedQuestion(decoded(*values))  # type: ignore[arg-type]  # as it was asked
    made: Question = _KINDS[name](*map(_as_tuple, values))
    return made


def _as_tuple(value: Any) -> Any:  # noqa: ANN401 - JSON has lists alone
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
