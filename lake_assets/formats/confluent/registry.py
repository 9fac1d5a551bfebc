"""Questions to a Confluent-compatible schema registry.

A registry that does not answer raises `RegistryError`, never an empty answer: whoever took a
passing fault for "no such schema" would quarantine good rows.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError

from lake_assets.errors import RegistryError, SchemaNotFoundError, SchemaUnusableError
from lake_assets.formats.confluent.answers import (
    id_in,
    kind_in,
    numbers_in,
    references_in,
    text_in,
    versions_in,
)
from lake_assets.formats.confluent.language import SchemaLanguage
from lake_assets.formats.confluent.registry_client import CORRECT_URL, registry_client, subjects_at
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.model.endpoints import RegistryAccess

_NOT_FOUND = range(40400, 40500)
"""Error codes of a registry's own "no such …". A 404 without one is from something else, such as
a proxy or a wrong path, and says nothing about schemas."""

MOST_ASKED = 500
"""Ids that are asked about one by one, at a few milliseconds each. More at once are no new versions
but bytes that look like framing; then only the subject's own list is asked for."""


class Registry:
    """A registry at `url`. Holds no connection: questions are rare, and need not be closed so."""

    def __init__(
        self,
        url: str,
        language: SchemaLanguage,
        access: RegistryAccess | None = None,
        *,
        clock: Callable[[], float] = time.time,
        takes_deleted: bool = False,
    ) -> None:
        """Nothing is asked yet.

        Args:
            url: of the registry.
            language: of the schemas.
            access: who we are to it.
            clock: seconds since 1970.
            takes_deleted: whether deleted versions are known before their rows come, as far as the
                registry has them: what columns mean must not hang on who came first.
        """
        self.language = language
        self._url = url
        self._access = access or RegistryAccess()
        self._clock = clock
        self._takes_deleted = takes_deleted

    def newest(
        self, subject: str, message: str | None = None, before: SchemaSet | None = None
    ) -> SchemaSet:
        """All versions of a subject, deleted ones only if those are taken.

        Args:
            subject: of the feed.
            message: full name of the one message type that the feed takes.
            before: what was known; versions that are still the same are not compiled again.

        Raises:
            SchemaNotFoundError: the subject does not exist.
            SchemaUnusableError: none of its versions can be decoded into columns.
            RegistryError: no answer.
        """
        schemas = self.versions(subject, message, before)
        self.language.check(schemas)
        return schemas

    def versions(
        self, subject: str, message: str | None = None, before: SchemaSet | None = None
    ) -> SchemaSet:
        """As `newest`, whether they can be decoded or not.

        Raises:
            SchemaNotFoundError: the subject does not exist.
            RegistryError: no answer.
        """
        thing = f"subject {subject!r} at {self._url}"
        known = {version.source: version for version in before.versions.values()} if before else {}
        with self._asking(thing) as client:
            numbers = numbers_in(client.get_versions(subject))
            fetched = [_fetch(client, subject, number) for number in numbers]
            if self._takes_deleted:
                fetched += _fetch_deleted(client, subject, numbers)
        versions = {
            version.schema_id: _compile(self.language, thing, version, known) for version in fetched
        }
        return SchemaSet(subject=subject, message=message, versions=versions)

    def check(self, subject: str) -> None:
        """Make sure that the registry answers questions about a subject.

        Raises:
            RegistryError: it does not, or has no such subject.
        """
        with self._asking(f"subject {subject!r} at {self._url}") as client:
            numbers_in(client.get_versions(subject))

    def subjects(self) -> tuple[str, ...]:
        """The names of all subjects that are not deleted.

        Raises:
            RegistryError: no answer.
        """
        return subjects_at(self._url, self._access)

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """`schemas` with an answer for each of `ids`: known, unknown or foreign.

        Ids that have an answer already are not asked about. If one of the others belongs to the
        subject, the subject's new versions are fetched. Far too many ids at once are not asked
        about: the subject's list is fetched, and `is_flooded` set.

        Raises:
            RegistryError: no answer.
        """
        unanswered = sorted(schemas.unanswered(ids))
        if not unanswered:
            return schemas
        if len(unanswered) > MOST_ASKED:
            return replace(self._renewed(schemas), is_flooded=True)
        subjects = {schema_id: self.subjects_of(schema_id) for schema_id in unanswered}
        own = {
            schema_id: numbers[schemas.subject]
            for schema_id, numbers in subjects.items()
            if schemas.subject in numbers
        }
        latest = self._renewed(schemas) if own else schemas
        # The subject's list leaves deleted versions out, yet their messages may be read.
        deleted = {
            schema_id: self.version_of(schemas.subject, number, schema_id)
            for schema_id, number in own.items()
            if schema_id not in latest.versions
        }
        others = {
            schema_id: numbers for schema_id, numbers in subjects.items() if schema_id not in own
        }
        return replace(latest, versions={**latest.versions, **deleted}).with_others(
            unknown=[schema_id for schema_id, numbers in others.items() if not numbers],
            foreign=[schema_id for schema_id, numbers in others.items() if numbers],
            now=self._clock(),
        )

    def _renewed(self, schemas: SchemaSet) -> SchemaSet:
        """`schemas` with the versions that were registered since."""
        latest = self.newest(schemas.subject, schemas.message, schemas)
        return replace(
            schemas,
            versions={**schemas.versions, **latest.versions},
            unknown_ids=schemas.unknown_ids - latest.known_ids,
            foreign_ids=schemas.foreign_ids - latest.known_ids,
        )

    def version_of(self, subject: str, number: int, schema_id: int) -> Version:
        """A version that the subject's list leaves out: it is deleted, yet its rows may be read.

        Some registries no longer have it under its subject where all of those are deleted, but by
        its id alone.

        Raises:
            RegistryError: no answer.
        """
        thing = f"subject {subject!r} at {self._url}"
        with self._asking(thing) as client:
            try:
                fetched = _fetch(client, subject, number)
            except SchemaRegistryError as problem:
                if not _is_missing(problem):
                    raise
                fetched = _fetched(client, schema_id, number, client.get_schema(schema_id))
            fetched = replace(fetched, is_deleted=True)
        return _compile(self.language, thing, fetched, {})

    def subjects_of(self, schema_id: int) -> dict[str, int]:
        """Subjects with this id and the version it is, deleted ones included; empty if none.

        Raises:
            RegistryError: no answer.
        """
        if schema_id <= 0:
            return {}
        try:
            with self._asking(f"schema {schema_id} at {self._url}") as client:
                # `/schemas/ids/{id}/subjects` would do, but Apicurio does not have it.
                return versions_in(client.get_schema_versions(schema_id, deleted=True))
        except SchemaNotFoundError:
            return {}

    @contextmanager
    def _asking(self, thing: str) -> Iterator[SchemaRegistryClient]:
        """A client for a question about `thing`; what it raises becomes an error of ours."""
        try:
            with registry_client(self._url, self._access) as client:
                yield client
        except SchemaRegistryError as problem:
            if _is_missing(problem):
                raise SchemaNotFoundError(
                    thing, "does not exist", "Register it, or correct the feed's subject"
                ) from problem
            fact = f"answered {problem.http_status_code} ({problem.error_message})"
            raise RegistryError(f"schema registry {self._url}", fact, CORRECT_URL) from problem


@dataclass(frozen=True, slots=True)
class _Fetched:
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


def _fetch(client: SchemaRegistryClient, subject: str, number: int) -> _Fetched:
    version = client.get_version(subject, number, deleted=True)
    return _fetched(client, id_in(version.schema_id), number, version.schema)


def _fetched(client: SchemaRegistryClient, schema_id: int, number: int, schema: Schema) -> _Fetched:
    imports = dict(_imports(client, schema, set()))
    return _Fetched(schema_id, number, kind_in(schema), text_in(schema), imports)


def _fetch_deleted(
    client: SchemaRegistryClient, subject: str, listed: Collection[int]
) -> Iterator[_Fetched]:
    """The versions that are deleted softly; a registry that knows no such tells of none."""
    for number in numbers_in(client.get_versions(subject, deleted=True)):
        if number in listed:
            continue
        try:
            yield replace(_fetch(client, subject, number), is_deleted=True)
        except SchemaRegistryError as problem:
            if not _is_missing(problem):
                raise  # else it was deleted for good meanwhile


def _compile(
    language: SchemaLanguage, thing: str, found: _Fetched, known: Mapping[str, Version]
) -> Version:
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


def _is_missing(problem: SchemaRegistryError) -> bool:
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
        name, subject, number = reference
        found = client.get_version(subject, number, deleted=True).schema
        yield from _imports(client, found, seen)
        yield name, text_in(found)
