"""Questions to a Confluent-compatible schema registry.

A registry that does not answer raises `RegistryError`, never an empty answer: whoever took a
passing fault for "no such schema" would quarantine good rows.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError

from lake_assets.decode.columns import columns
from lake_assets.decode.compile import ROOT, compile_files, first_message
from lake_assets.decode.schemas import SchemaSet
from lake_assets.errors import RegistryError, SchemaNotFoundError

_TIMEOUT_S = 10.0
"""Seconds for one answer. A registry answers in milliseconds, its first start aside."""

_RETRIES = 1
"""Further tries a request; callers that can wait repeat the question themselves."""

_NOT_FOUND = range(40400, 40500)
"""Error codes of a registry's own "no such …". A 404 without one is from something else, such as
a proxy or a wrong path, and says nothing about schemas."""

_CORRECT_URL = "Correct LAKE_ASSETS_REGISTRY_URL, or look into the registry's log"


class Registry:
    """A registry at `url`. Holds no connection: questions are rare, and need not be closed so."""

    def __init__(self, url: str) -> None:
        """Nothing is asked yet."""
        self._url = url

    def newest(self, subject: str) -> SchemaSet:
        """The newest version of a subject, with the ids of all its versions.

        Raises:
            SchemaNotFoundError: the subject does not exist.
            RegistryError: no answer, or the newest version cannot be decoded into columns.
        """
        thing = f"subject {subject!r} at {self._url}"
        with self._asking(thing) as client:
            versions: list[int] = client.get_versions(subject)
            found = {version: client.get_version(subject, version) for version in versions}
        newest = max(found)
        schema = found[newest].schema
        named = f"version {newest} of {thing}"
        if schema.schema_type != "PROTOBUF":
            fact = f"is {schema.schema_type}, not PROTOBUF"
            raise RegistryError(named, fact, "Correct payload.protobuf.subject of the feed")
        with self._asking(f"a reference of {named}") as client:
            files = dict(_imports(client, schema))
        descriptor_set = compile_files(named, {**files, ROOT: schema.schema_str or ""})
        schemas = SchemaSet(
            subject=subject,
            version=newest,
            message=first_message(named, descriptor_set),
            descriptor_set=descriptor_set,
            known_ids=frozenset(one.schema_id for one in found.values() if one.schema_id),
        )
        columns(schemas)
        return schemas

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """`schemas` with an answer for each of `ids`: known, unknown or foreign.

        Ids that have an answer already are not asked about. If one of the others belongs to the
        subject, the subject's newest version is fetched.

        Raises:
            RegistryError: no answer, or the newest version cannot be decoded into columns.
        """
        answered = schemas.known_ids | schemas.unknown_ids | schemas.foreign_ids
        known, unknown, foreign = set(), set(schemas.unknown_ids), set(schemas.foreign_ids)
        for schema_id in sorted(set(ids) - answered):
            subjects = self._subjects(schema_id)
            if schemas.subject in subjects:
                known.add(schema_id)
            else:
                (foreign if subjects else unknown).add(schema_id)
        latest = self.newest(schemas.subject) if known else schemas
        return replace(
            latest,
            # The subject's list leaves deleted versions out, yet their messages may be read.
            known_ids=schemas.known_ids | latest.known_ids | known,
            unknown_ids=frozenset(unknown),
            foreign_ids=frozenset(foreign),
        )

    def _subjects(self, schema_id: int) -> frozenset[str]:
        """Subjects with this id, deleted ones included; empty if the registry has no such id."""
        if schema_id <= 0:
            return frozenset()
        try:
            with self._asking(f"schema {schema_id} at {self._url}") as client:
                # `/schemas/ids/{id}/subjects` would do, but Apicurio does not have it.
                found = client.get_schema_versions(schema_id, deleted=True)
        except SchemaNotFoundError:
            return frozenset()
        return frozenset(str(one.subject) for one in found)

    @property
    def _thing(self) -> str:
        return f"schema registry {self._url}"

    @contextmanager
    def _asking(self, thing: str) -> Iterator[SchemaRegistryClient]:
        """A client for a question about `thing`; what it raises becomes an error of ours."""
        conf = {"url": self._url, "timeout": _TIMEOUT_S, "max.retries": _RETRIES}
        try:
            with SchemaRegistryClient(conf) as client:
                yield client
        except SchemaRegistryError as problem:
            if problem.http_status_code == httpx.codes.NOT_FOUND and _is_ours(problem.error_code):
                raise SchemaNotFoundError(
                    thing, "does not exist", "Register it, or correct the feed's subject"
                ) from problem
            fact = f"answered {problem.http_status_code} ({problem.error_message})"
            raise RegistryError(self._thing, fact, _CORRECT_URL) from problem
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            fact = f"cannot be reached ({str(problem) or type(problem).__name__})"
            raise RegistryError(self._thing, fact, "Start it, or correct its address") from problem
        except (ValueError, AttributeError, TypeError) as problem:
            # The client trusts that an answer is JSON of the right shape.
            fact = "does not answer like a schema registry"
            raise RegistryError(self._thing, fact, _CORRECT_URL) from problem


def _is_ours(error_code: object) -> bool:
    return isinstance(error_code, int) and error_code in _NOT_FOUND


def _imports(client: SchemaRegistryClient, schema: Schema) -> Iterator[tuple[str, str]]:
    """Import path and content of all that a schema refers to, directly or not."""
    for reference in schema.references or ():
        if reference.name and reference.subject and reference.version:
            found = client.get_version(reference.subject, reference.version, deleted=True)
            yield from _imports(client, found.schema)
            yield reference.name, found.schema.schema_str or ""
