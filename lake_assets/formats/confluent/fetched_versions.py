"""One version of a subject as a registry has it: with all that it refers to, and compiled.

Which are asked for, and what errors mean, is `confluent.registry`'s business.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.confluent.answers import (
    UnexpectedAnswerError,
    id_in,
    kind_in,
    numbers_in,
    references_in,
    text_in,
)
from lake_assets.formats.confluent.language import SchemaLanguage
from lake_assets.formats.confluent.schemas import Version

_NOT_FOUND = range(40400, 40500)

MOST_REFERENCES = 200
"""Schemas that one may refer to, directly or not, each of them a request: a registry may answer any
version with a reference to the next."""
"""Error codes of a registry's own "no such …". A 404 without one is from something else, such as
a proxy or a wrong path, and says nothing about schemas."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """One version as the registry has it, with all that it refers to."""

    schema_id: int
    number: int
    kind: str
    text: str
    imports: Mapping[str, str]
    is_deleted: bool = False

    @property
    def source(self) -> str:
        """Digest of all that the descriptors are made from, and of the version's number."""
        parts = [self.number, self.kind, self.text, sorted(self.imports.items())]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def fetch(client: SchemaRegistryClient, subject: str, number: int) -> Fetched:
    """A version of a subject, deleted or not.

    Raises:
        SchemaRegistryError: an answer that is no success.
        ValueError: the answer is none of a schema registry.
    """
    version = client.get_version(subject, number, deleted=True)
    return with_references(client, id_in(version.schema_id), number, version.schema)


def with_references(
    client: SchemaRegistryClient, schema_id: int, number: int, schema: Schema
) -> Fetched:
    """A version whose text is known, with all that it refers to.

    Raises:
        SchemaRegistryError: an answer that is no success.
    """
    imports = dict(_imports(client, schema, set()))
    return Fetched(schema_id, number, kind_in(schema), text_in(schema), imports)


def fetch_deleted(
    client: SchemaRegistryClient, subject: str, listed: Collection[int]
) -> Iterator[Fetched]:
    """The versions that are deleted softly; a registry that knows no such tells of none."""
    return fetch_others(
        client, subject, numbers_in(client.get_versions(subject, deleted=True)), listed
    )


def fetch_others(
    client: SchemaRegistryClient, subject: str, numbers: Iterable[int], listed: Collection[int]
) -> Iterator[Fetched]:
    """Those of all versions that are not listed."""
    for number in numbers:
        if number in listed:
            continue
        try:
            yield replace(fetch(client, subject, number), is_deleted=True)
        except SchemaRegistryError as problem:
            if not is_missing(problem):
                raise  # else it was deleted for good meanwhile


def is_missing(problem: SchemaRegistryError) -> bool:
    """Whether a registry says that it has no such thing, and not something else in its place."""
    code: object = problem.error_code
    is_ours = isinstance(code, int) and code in _NOT_FOUND
    return is_ours and problem.http_status_code == httpx.codes.NOT_FOUND


def _imports(
    client: SchemaRegistryClient, schema: Schema, seen: set[tuple[str, str, int]]
) -> Iterator[tuple[str, str]]:
    """Import path and content of all that a schema refers to, directly or not, each once."""
    for reference in references_in(schema):
        if reference in seen:
            continue
        seen.add(reference)
        if len(seen) > MOST_REFERENCES:
            fact = f"a schema refers to more than {MOST_REFERENCES} others"
            raise UnexpectedAnswerError(fact)
        name, subject, number = reference
        found = client.get_version(subject, number, deleted=True).schema
        yield from _imports(client, found, seen)
        yield name, text_in(found)


def compiled(
    language: SchemaLanguage, thing: str, found: Fetched, known: Mapping[str, Version]
) -> Version:
    """What decoders are made from; what cannot be says why.

    Args:
        language: that the subject's schemas are in.
        thing: the subject, for what is wrong.
        found: the version.
        known: by source, versions that need not be compiled again.
    """
    if found.source in known:
        return replace(known[found.source], is_deleted=found.is_deleted)
    made = Version(number=found.number, source=found.source, is_deleted=found.is_deleted)
    if found.kind != language.name:
        return replace(made, problem=f"is {found.kind}, not {language.name}")
    whole = f"version {found.number} of {thing}"
    try:
        descriptor_set = language.compile(whole, found.text, found.imports)
    except SchemaUnusableError as problem:
        return replace(made, problem=problem.fact)
    return replace(made, descriptor_set=descriptor_set)
