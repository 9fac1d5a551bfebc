"""Which subjects of a schema registry a feed reads: one, several by name, or those of a pattern."""

import re
from dataclasses import dataclass
from typing import Self

from pydantic import Field, model_validator

from lake_assets.errors import FeedError
from lake_assets.model.base import Noun
from lake_assets.model.topic_pattern import CORRECT_EXPRESSION
from lake_assets.model.unique_names import both, refuse_twins

_SHOWN = 3
"""Names that are told of many, where each row of quarantine tells them."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """Several subjects: either named, or those whose whole names match a pattern."""

    names: tuple[str, ...] = ()
    pattern: str | None = None

    @property
    def title(self) -> str:
        """Which they are, in words."""
        if self.pattern is not None:
            return f"subjects that match {self.pattern!r}"
        return f"subjects {', '.join(map(repr, self.names))}"

    @property
    def label(self) -> str:
        """The pattern, or the first of the names, in short."""
        if self.pattern is not None:
            return self.pattern
        more = len(self.names) - _SHOWN
        return ", ".join(self.names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

    def takes(self, name: str) -> bool:
        """Whether a subject is one of these."""
        if self.pattern is not None:
            return re.fullmatch(self.pattern, name) is not None
        return name in self.names


class OfSubjects(Noun):
    """The part of a payload's declaration that says under which subjects its schemas are."""

    subject: str = ""
    """Name of the subject in the registry; or else `subjects` has several."""

    subjects: tuple[str, ...] | str | None = Field(default=None, min_length=1)
    """Several subjects in place of one, as producers have them that name subjects by record
    (RecordNameStrategy, TopicRecordNameStrategy): their names, or a regular expression that whole
    names match (`"play-com\\.acme\\..*"`). Which one a row is of its schema id says. Those that are
    registered later are read while the streams run."""

    @model_validator(mode="after")
    def _names_subjects_one_way(self) -> Self:
        if self.subject and self.subjects is not None:
            message = f"{both(['subject', 'subjects'])}\ngive either `subject` or `subjects`"
            raise ValueError(message)
        if isinstance(self.subjects, str):
            _ensure_pattern(self.subjects)
        elif self.subjects is not None:
            _ensure_names(self.subjects)
        return self

    @property
    def several(self) -> Subjects | None:
        """The subjects, if `subjects` gives them."""
        if self.subjects is None:
            return None
        if isinstance(self.subjects, str):
            return Subjects(pattern=self.subjects)
        return Subjects(names=self.subjects)

    @property
    def has_subject(self) -> bool:
        """Whether its schemas are registered."""
        return bool(self.subject) or self.subjects is not None


def one_subject(declared: object, kind: str) -> str:
    """The one subject of a payload.

    Args:
        declared: what is declared of its format.
        kind: name of the format.

    Raises:
        FeedError: it has none, or several.
    """
    fact = f"is {kind}, which has no subject in a registry"
    if isinstance(declared, OfSubjects):
        if declared.subject:
            return declared.subject
        if declared.several is not None:
            fact = f"has {declared.several.title}, and one is wanted"
    raise FeedError("payload of the feed", fact, "Choose another feed")


def _ensure_pattern(text: str) -> None:
    try:
        re.compile(text)
    except re.error as problem:
        message = f"subjects: {text!r} is no regular expression ({problem})\n{CORRECT_EXPRESSION}"
        raise ValueError(message) from None


def _ensure_names(names: tuple[str, ...]) -> None:
    if not all(name.strip() for name in names):
        message = "subjects: a name is empty"
        raise ValueError(message)
    refuse_twins("subjects", list(names))
