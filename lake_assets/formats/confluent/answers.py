"""What a registry answers, as what it must be: numbers, ids, texts. Asks nobody.

The client takes whatever JSON there is. A proxy, or a registry of another make, may answer JSON
that is something else; then it says nothing about schemas, and nobody may go on with it.
"""

from collections.abc import Iterable
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference

_GREATEST_ID = 2**32 - 1
"""Ids have four bytes in a row's framing."""


class UnexpectedAnswerError(ValueError):
    """An answer is JSON, and not what was asked for; the text says what of it is wrong."""


def subjects_in(found: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """A list of subjects.

    Raises:
        UnexpectedAnswerError: it is none.
    """
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise UnexpectedAnswerError("its list of subjects is none")
    return tuple(found)


def numbers_in(found: Any) -> list[int]:  # noqa: ANN401 - any JSON
    """The numbers of a subject's versions.

    Raises:
        UnexpectedAnswerError: they are none.
    """
    if not isinstance(found, list):
        raise UnexpectedAnswerError("its list of versions is none")
    return [number_in(one) for one in found]


def number_in(found: Any) -> int:  # noqa: ANN401 - any JSON
    """The number of a version.

    Raises:
        UnexpectedAnswerError: it is none.
    """
    if not _is_integer(found) or found < 1:
        raise UnexpectedAnswerError("a version has no number")
    return int(found)


def id_in(found: Any) -> int:  # noqa: ANN401 - any JSON
    """The id of a version.

    Raises:
        UnexpectedAnswerError: it is none that a row can have.
    """
    if not _is_integer(found) or found not in range(1, _GREATEST_ID + 1):
        raise UnexpectedAnswerError("a version has no id")
    return int(found)


def kind_in(schema: Schema) -> str:
    """The language of a schema, Avro if it says none.

    Raises:
        UnexpectedAnswerError: it is no name.
    """
    kind: Any = schema.schema_type
    if kind is not None and not isinstance(kind, str):
        raise UnexpectedAnswerError("a schema has no language")
    return kind or "AVRO"


def text_in(schema: Schema) -> str:
    """The text of a schema.

    Raises:
        UnexpectedAnswerError: it has none.
    """
    text: Any = schema.schema_str
    if not isinstance(text, str):
        raise UnexpectedAnswerError("a schema has no text")
    return text


def references_in(schema: Schema) -> list[tuple[str, str, int]]:
    """What a schema refers to: by which name, and of which subject which version; -1 is the newest.

    Raises:
        UnexpectedAnswerError: a reference does not say that.
    """
    return [_reference(one) for one in schema.references or ()]


def _reference(one: SchemaReference) -> tuple[str, str, int]:
    name: Any = one.name
    subject: Any = one.subject
    is_told = all(isinstance(told, str) and told for told in (name, subject))
    if not is_told or not _is_integer(one.version):
        raise UnexpectedAnswerError("a reference of a schema does not say to what")
    return name, subject, int(one.version or 0)


def versions_in(found: Iterable[Any]) -> dict[str, int]:
    """By subject, the version that a schema is in it.

    Raises:
        UnexpectedAnswerError: one does not say that.
    """
    versions = {}
    for one in found:
        if not isinstance(one.subject, str):
            raise UnexpectedAnswerError("a version of a schema has no subject")
        versions[one.subject] = number_in(one.version)
    return versions


def _is_integer(found: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(found, int) and not isinstance(found, bool)
