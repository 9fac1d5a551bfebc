import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from lake_assets.errors import RegistryError, SchemaNotFoundError, SchemaUnusableError
from lake_assets.formats.avro.language import AVRO
from lake_assets.formats.confluent.fetched_versions import MOST_REFERENCES
from lake_assets.formats.confluent.registry import MOST_ASKED, Registry
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets_tests.formats.protobuf.given import NOTHING

TEXT = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}'

VERSION = {"subject": "s", "version": 1, "id": 3, "schema": TEXT}

GOOD = {
    "/subjects": ["s"],
    "/subjects/s/versions": [1],
    "/subjects/s/versions/1": VERSION,
    "/schemas/ids/3": {"schema": TEXT},
    "/schemas/ids/3/versions": [{"subject": "s", "version": 1}],
}
"""What a registry with one subject answers, by path."""


class Subject:
    """A fresh subject in a real registry."""

    def __init__(self, url: str) -> None:
        self.name = f"subject-{uuid4().hex[:8]}"
        self._conf = {"url": url}

    def register(self, body: str, references: list[SchemaReference] | None = None) -> int:
        # The package makes the text this subject's own: equal texts would share one id.
        package = self.name.replace("-", "_")
        text = f'syntax = "proto3"; package {package}; {body}'
        schema = Schema(text, "PROTOBUF", references or [])
        with SchemaRegistryClient(self._conf) as client:
            return int(client.register_schema(self.name, schema))

    def delete(self, version: int, *, for_good: bool = False) -> None:
        with SchemaRegistryClient(self._conf) as client:
            client.delete_version(self.name, version, permanent=for_good)


@pytest.fixture
def subject(services) -> Subject:
    return Subject(services.registry)


@pytest.fixture
def registry(services) -> Registry:
    return Registry(services.registry, PROTOBUF)


@contextmanager
def answering(
    status: int, body: object, found: Mapping[str, object] | None = None
) -> Iterator[str]:
    """A server that says the same to every question, unless an answer is found by its path."""
    by_path = found or {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            said = by_path.get(path, body)
            self.send_response(200 if path in by_path else status)
            self.end_headers()
            self.wfile.write(said if isinstance(said, bytes) else json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.kafka
def test_the_newest_version_is_found_with_the_ids_of_all(registry, subject):
    ids = {
        subject.register("message event { string a = 1; }"),
        subject.register("message event { string a = 1; optional string b = 2; }"),
    }
    found = registry.newest(subject.name)
    assert (found.version, found.known_ids) == (2, ids)
    assert plan_decoding(found, NOTHING).columns.names == ["a", "b"]


@pytest.mark.kafka
def test_a_version_registered_later_is_found(registry, subject):
    subject.register("message event { string a = 1; }")
    before = registry.newest(subject.name)
    added = subject.register("message event { string a = 1; optional string b = 2; }")
    after = registry.resolve(before, [added])
    assert (after.version, added in after.known_ids) == (2, True)


@pytest.mark.kafka
def test_a_deleted_version_is_still_known(registry, subject):
    first = subject.register("message event { string a = 1; }")
    subject.register("message event { string a = 1; optional string b = 2; }")
    subject.delete(1)
    found = registry.newest(subject.name)
    assert first in registry.resolve(found, [first]).known_ids


@pytest.mark.kafka
def test_deleted_versions_are_known_beforehand_where_they_are_taken(services, subject):
    first = subject.register("message event { string a = 1; }")
    second = subject.register("message event { string a = 1; optional string b = 2; }")
    registry = Registry(services.registry, PROTOBUF, takes_deleted=True)
    before = registry.newest(subject.name)
    subject.delete(1)
    after = registry.newest(subject.name, None, before)
    assert {one: version.is_deleted for one, version in after.versions.items()} == {
        first: True,
        second: False,
    }
    assert not before.versions[first].is_deleted
    subject.delete(1, for_good=True)
    assert registry.newest(subject.name).known_ids == {second}


@pytest.mark.kafka
@pytest.mark.parametrize("name", ["o.proto", "feed.proto"])
def test_references_are_followed_whatever_their_names(services, registry, subject, name):
    inner, outer = Subject(services.registry), Subject(services.registry)
    inner.register("message I { string a = 1; }")
    outer.register(
        f'import "i.proto"; message O {{ {inner.name.replace("-", "_")}.I i = 1; }}',
        [SchemaReference("i.proto", inner.name, 1)],
    )
    subject.register(
        f'import "{name}"; message event {{ {outer.name.replace("-", "_")}.O o = 1; }}',
        [SchemaReference(name, outer.name, 1)],
    )
    (field,) = plan_decoding(registry.newest(subject.name), NOTHING).columns
    assert str(field.type) == "struct<i: struct<a: string>>"


@pytest.mark.kafka
def test_ids_are_known_foreign_or_unknown(services, registry, subject):
    own = subject.register("message event { string a = 1; }")
    other = Subject(services.registry).register("message event { string a = 1; }")
    found = registry.resolve(registry.newest(subject.name), [own, other, 2**31 - 1, -3])
    assert found.known_ids == {own}
    assert found.foreign_ids == {other}
    assert found.unknown_ids == {2**31 - 1, -3}


@pytest.mark.kafka
def test_ids_with_an_answer_are_not_asked_about_again(registry, subject):
    subject.register("message event { string a = 1; }")
    found = registry.resolve(registry.newest(subject.name), [2**31 - 1])
    silent = Registry("http://127.0.0.1:1", PROTOBUF)
    assert silent.resolve(found, [2**31 - 1, *found.known_ids]) == found


@pytest.mark.kafka
def test_a_missing_subject_is_not_found(registry):
    with pytest.raises(SchemaNotFoundError, match="subject 'nowhere' at http"):
        registry.newest("nowhere")


@pytest.mark.kafka
def test_a_schema_that_is_not_protobuf_is_refused(services, registry, subject):
    with SchemaRegistryClient({"url": services.registry}) as client:
        client.register_schema(subject.name, Schema('{"type": "string"}', "AVRO"))
    with pytest.raises(RegistryError, match="is AVRO, not PROTOBUF"):
        registry.newest(subject.name)


@pytest.mark.kafka
def test_a_schema_that_gives_no_columns_is_refused(registry, subject):
    subject.register("message event { string _topic = 1; }")
    with pytest.raises(SchemaUnusableError, match="field _topic"):
        registry.newest(subject.name)


@pytest.mark.kafka
def test_a_bad_version_does_not_hide_the_good_ones(registry, subject):
    first = subject.register("message event { string a = 1; }")
    subject.register("message event { string _topic = 1; }")
    found = plan_decoding(registry.newest(subject.name), NOTHING)
    assert (found.columns.names, set(found.places)) == (["a"], {(first, (0,))})


@pytest.mark.kafka
def test_versions_that_are_known_are_not_compiled_again(registry, subject):
    subject.register("message event { string a = 1; }")
    before = registry.newest(subject.name)
    mine = {i: replace(version, problem="is mine") for i, version in before.versions.items()}
    subject.register("message event { string a = 1; optional string b = 2; }")
    found = registry.newest(subject.name, before=replace(before, versions=mine))
    assert [version.problem for version in found.versions.values()] == ["is mine", ""]


@pytest.mark.kafka
def test_a_registry_that_was_set_up_anew_is_believed(registry, subject):
    own = subject.register("message event { string a = 1; }")
    stale = {own: Version(number=1, problem="is stale", source="x"), 2**30: Version(number=9)}
    before = SchemaSet(subject=subject.name, versions=stale)
    assert registry.newest(subject.name, before=before) == registry.newest(subject.name)


@pytest.mark.kafka
def test_a_flood_of_ids_is_not_asked_about_one_by_one(registry, subject):
    subject.register("message event { string a = 1; }")
    before = registry.newest(subject.name)
    added = subject.register("message event { string a = 1; optional string b = 2; }")
    flood = range(2**30, 2**30 + MOST_ASKED)
    found = registry.resolve(before, [added, *flood])
    assert (added in found.known_ids, found.is_flooded, found.unknown_ids) == (True, True, set())


@pytest.mark.kafka
def test_an_id_that_was_unknown_and_is_registered_since_is_known(registry, subject):
    subject.register("message event { string a = 1; }")
    before = registry.newest(subject.name)
    added = subject.register("message event { string a = 1; optional string b = 2; }")
    wrong = before.with_others([added], [added], now=0)
    found = registry.resolve(wrong, [2**31 - 1, subject.register("message event { int64 c = 3; }")])
    assert added in found.known_ids
    assert not {added} & (found.unknown_ids | found.foreign_ids)


@pytest.mark.kafka
def test_the_message_that_the_feed_takes_is_kept(registry, subject):
    subject.register("message event { string a = 1; } message other { int32 b = 1; }")
    package = subject.name.replace("-", "_")
    found = registry.resolve(registry.newest(subject.name, f"{package}.other"), [2**31 - 1])
    assert plan_decoding(found, NOTHING).columns.names == ["b"]


def test_a_registry_that_is_down_is_no_missing_schema():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(RegistryError, match=f"{url}: cannot be reached") as caught:
            Registry(url, PROTOBUF).newest("s")
    assert not isinstance(caught.value, SchemaNotFoundError)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"not here"),
        (404, {"error": "no such page"}),
        (500, {"error_code": 50001, "message": "store"}),
        (403, {"error_code": 40301, "message": "no"}),
        (200, b"<html>"),
        (200, {"a": 1}),
    ],
)
def test_a_server_that_is_no_registry_is_no_missing_schema(status, body):
    with answering(status, body) as url, pytest.raises(RegistryError) as caught:
        Registry(url, PROTOBUF).newest("s")
    assert not isinstance(caught.value, SchemaNotFoundError)
    assert url in str(caught.value)


def test_a_registrys_own_not_found_is_believed():
    body = {"error_code": 40401, "message": "Subject 's' not found."}
    with answering(404, body) as url, pytest.raises(SchemaNotFoundError):
        Registry(url, PROTOBUF).newest("s")


def test_an_address_that_is_none_is_refused():
    with pytest.raises(RegistryError, match="nonsense"):
        Registry("nonsense", PROTOBUF).newest("s")


def asked(url: str) -> SchemaSet:
    """All that may be asked of the registry with `GOOD`."""
    registry = Registry(url, AVRO, takes_deleted=True)
    assert registry.subjects() == ("s",)
    registry.check("s")
    schemas = registry.newest("s")
    registry.resolve(replace(schemas, versions={}), [3])
    registry.version_of("s", 2, 3)
    return schemas


def test_an_answer_of_the_right_shape_is_taken():
    with answering(404, {"error_code": 40402, "message": "no"}, GOOD) as url:
        assert asked(url).known_ids == {3}


def reference(**changed: object) -> dict[str, object]:
    """A version that refers to another one, in a way."""
    refers = {"name": "r", "subject": "s", "version": 1, **changed}
    return {**VERSION, "references": [refers]}


ONE = "/subjects/s/versions/1"


@pytest.mark.parametrize(
    ("path", "answer", "fact"),
    [
        ("/subjects", {"subjects": ["s"]}, "its list of subjects is none"),
        ("/subjects/s/versions", ["1"], "a version has no number"),
        (ONE, {**VERSION, "id": None}, "a version has no id"),
        (ONE, {**VERSION, "schema": None}, "a schema has no text"),
        (ONE, {**VERSION, "schemaType": 1}, "a schema has no language"),
        (ONE, {**VERSION, "references": ["r"]}, ""),
        (ONE, b"[" * 100_000, ""),
        ("/subjects", b"[" + b'"s",' * 9_000_000 + b'"s"]', "an answer has more than 32 MiB"),
        (ONE, reference(version=None), "a reference of a schema does not say to what"),
        ("/schemas/ids/3", {"schema": 3}, "a schema has no text"),
        ("/schemas/ids/3/versions", [{"version": 1}], "a version of a schema has no subject"),
    ],
)
def test_an_answer_of_another_shape_is_an_error_of_the_registrys(path, answer, fact):
    others = {**GOOD, path: answer}
    with answering(404, {"error_code": 40402, "message": "no"}, others) as url:
        with pytest.raises(RegistryError) as caught:
            asked(url)
        whole = f"does not answer like a schema registry{fact and f' ({fact})'}"
        assert str(caught.value).startswith(f"schema registry {url}: {whole}. Correct ")
        assert type(caught.value) is RegistryError


def test_a_registry_that_refers_from_each_version_to_the_next_is_not_followed_for_ever():
    endless = {
        f"/subjects/s/versions/{n}": {**reference(version=n + 1), "version": n, "id": n + 2}
        for n in range(1, 2 * MOST_REFERENCES)
    }
    with (
        answering(404, b"", {"/subjects/s/versions": [1], **endless}) as url,
        pytest.raises(RegistryError, match="refers to more than 200 others"),
    ):
        Registry(url, AVRO).newest("s")


def test_schemas_that_refer_to_each_other_are_asked_for_once():
    one, other = (
        {
            "subject": name,
            "version": 1,
            "id": at,
            "schemaType": "PROTOBUF",
            "schema": f'syntax = "proto3"; import "{refers}.proto"; message {name} {{}}',
            "references": [{"name": f"{refers}.proto", "subject": refers, "version": 1}],
        }
        for at, (name, refers) in enumerate((("s", "t"), ("t", "s")), 3)
    )
    others = {"/subjects/s/versions": [1], ONE: one, "/subjects/t/versions/1": other}
    with answering(404, b"", others) as url, pytest.raises(SchemaUnusableError) as caught:
        Registry(url, PROTOBUF).newest("s")
    assert "does not compile" in str(caught.value)
