"""Questions to a Confluent-compatible schema registry.

A registry that does not answer raises `RegistryError`, never an empty answer: whoever took a
passing fault for "no such schema" would quarantine good rows.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from lake_assets.errors import RegistryError, SchemaNotFoundError
from lake_assets.formats.confluent.answers import numbers_in, versions_in
from lake_assets.formats.confluent.fetched_versions import (
    Fetched,
    compiled,
    fetch,
    fetch_deleted,
    fetch_others,
    is_missing,
    with_references,
)
from lake_assets.formats.confluent.language import SchemaLanguage
from lake_assets.formats.confluent.registry_client import (
    CORRECT_URL,
    answered,
    registry_client,
    subjects_at,
)
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.confluent.side_by_side import side_by_side
from lake_assets.model.endpoints import RegistryAccess

MOST_ASKED = 500
"""Ids that are asked about each by itself, at a few milliseconds. More at once are no new versions
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
        with self._asking(self._thing(subject)) as client:
            numbers = numbers_in(client.get_versions(subject))
            fetched = [fetch(client, subject, number) for number in numbers]
            if self._takes_deleted:
                fetched += fetch_deleted(client, subject, numbers)
        return self._compiled(subject, fetched, before, message)

    def versions_of(
        self, known: Sequence[SchemaSet], *, are_listed: bool = False
    ) -> Iterator[SchemaSet]:
        """As `versions` of each of several subjects; those that do not exist are left out.

        They are asked about side by side, a few at a time, over the same connections.

        Args:
            known: what was known of each subject; nothing of a new one.
            are_listed: whether `subjects` has just told of all of them: then the one version of a
                subject is not deleted, and need not be asked for twice.

        Raises:
            RegistryError: no answer.
        """
        with self._asking(f"subjects at {self._url}") as client:

            def ask(one: SchemaSet) -> list[Fetched]:
                return self._fetch_all(client, one.subject, is_listed=are_listed)

            found = side_by_side(ask, known)
        for before, versions in zip(known, found, strict=True):
            if versions:
                yield self._compiled(before.subject, versions, before)

    def _fetch_all(
        self, client: SchemaRegistryClient, subject: str, *, is_listed: bool
    ) -> list[Fetched]:
        """The versions of a subject; none if it does not exist."""
        try:
            numbers = numbers_in(client.get_versions(subject, deleted=self._takes_deleted))
            is_told = not self._takes_deleted or (is_listed and len(numbers) == 1)
            listed = numbers if is_told else numbers_in(client.get_versions(subject))
            found = [fetch(client, subject, number) for number in listed]
            return [*found, *fetch_others(client, subject, numbers, listed)]
        except SchemaRegistryError as problem:
            if is_missing(problem):
                return []
            raise

    def _compiled(
        self,
        subject: str,
        fetched: Iterable[Fetched],
        before: SchemaSet | None,
        message: str | None = None,
    ) -> SchemaSet:
        known = {version.source: version for version in before.versions.values()} if before else {}
        thing = self._thing(subject)
        versions: dict[int, Version] = {}
        for one in fetched:
            # Deleted ones come last: one that was registered again has the id that it had.
            if one.schema_id not in versions:
                versions[one.schema_id] = compiled(self.language, thing, one, known)
        return SchemaSet(subject=subject, message=message, versions=versions)

    def _thing(self, subject: str) -> str:
        return f"subject {subject!r} at {self._url}"

    def check(self, subject: str) -> None:
        """Make sure that the registry answers questions about a subject.

        Raises:
            RegistryError: it does not, or has no such subject.
        """
        with self._asking(self._thing(subject)) as client:
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
        subjects = self.subjects_of(unanswered)
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
        thing = self._thing(subject)
        with self._asking(thing) as client:
            try:
                fetched = fetch(client, subject, number)
            except SchemaRegistryError as problem:
                if not is_missing(problem):
                    raise
                fetched = with_references(client, schema_id, number, client.get_schema(schema_id))
            fetched = replace(fetched, is_deleted=True)
        return compiled(self.language, thing, fetched, {})

    def subjects_of(self, ids: Sequence[int]) -> dict[int, dict[str, int]]:
        """By schema id, the subjects that have it with the version it is there, deleted ones too.

        An id that nobody has is of none. They are asked about as by `versions_of`.

        Raises:
            RegistryError: no answer.
        """
        with self._asking(f"schemas at {self._url}") as client:

            def ask(schema_id: int) -> dict[str, int]:
                return _subjects_of(client, schema_id)

            return dict(zip(ids, side_by_side(ask, ids), strict=True))

    @contextmanager
    def _asking(self, thing: str) -> Iterator[SchemaRegistryClient]:
        """A client for a question about `thing`; what it raises becomes an error of ours."""
        try:
            with registry_client(self._url, self._access) as client:
                yield client
        except SchemaRegistryError as problem:
            if is_missing(problem):
                raise SchemaNotFoundError(
                    thing, "does not exist", "Register it, or correct the feed's subject"
                ) from problem
            thing = f"schema registry {self._url}"
            raise RegistryError(thing, answered(problem), CORRECT_URL) from problem


def _subjects_of(client: SchemaRegistryClient, schema_id: int) -> dict[str, int]:
    if schema_id <= 0:
        return {}
    try:
        # `/schemas/ids/{id}/subjects` would do, but Apicurio does not have it.
        return versions_in(client.get_schema_versions(schema_id, deleted=True))
    except SchemaRegistryError as problem:
        if is_missing(problem):
            return {}
        raise
