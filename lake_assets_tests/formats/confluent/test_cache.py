import json
import logging
from dataclasses import dataclass, field

import pytest

from lake_assets.errors import RegistryError, SchemaNotFoundError
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.schemas import Version
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets_tests.formats.protobuf.given import schemas

DOWN = RegistryError("schema registry http://r", "cannot be reached", "Start it")
GONE = SchemaNotFoundError("subject 's'", "does not exist", "Register it")

ONE = schemas("message event { string a = 1; }")
TWO = schemas("message event { string a = 1; }", "message event { int32 b = 2; }")


@dataclass
class Registry:
    """Answers with each of `answers` in turn; errors are raised."""

    answers: list
    asked: list = field(default_factory=list)
    language = PROTOBUF

    def newest(self, subject, message, before):
        return self._answer((subject, message, before.versions))

    def resolve(self, known, ids):
        return self._answer((known, ids))

    def _answer(self, question):
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def cache(tmp_path):
    return SchemaCache(tmp_path / "schemas")


def file_of(cache):
    (path,) = cache.folder.iterdir()
    return path


def test_versions_come_back_as_they_were(cache):
    broken = {**TWO.versions, 3: Version(number=3, problem="is AVRO, not PROTOBUF", source="x")}
    cache.write(schemas(versions=broken))
    assert cache.read("s") == broken


def test_of_a_subject_never_kept_there_is_nothing(cache):
    assert cache.read("s") == {}


def test_subjects_are_kept_apart_whatever_they_are_called(cache):
    names = ["a/b", "A/b", "../x", "x" * 300, "x" * 301, "ü"]
    for number, name in enumerate(names):
        cache.write(schemas(subject=name, versions={number: Version(number=1)}))
    assert [list(cache.read(name)) for name in names] == [[i] for i in range(len(names))]
    assert len(list(cache.folder.iterdir())) == len(names)


def test_what_may_be_different_tomorrow_is_not_kept(cache):
    cache.write(ONE.with_others([8], [9], now=0))
    registry = CachedRegistry(Registry([DOWN]), cache)
    assert registry.newest("s") == ONE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"format": 0, "subject": "s", "versions": {}}',
        '{"format": 1, "subject": "other", "versions": {}}',
        '{"format": 1, "subject": "s", "versions": []}',
        '{"format": 1, "subject": "s", "versions": {"x": {}}}',
        '{"format": 1, "subject": "s", "versions": {"1": null}}',
    ],
)
def test_a_damaged_file_is_warned_of_and_replaced(cache, caplog, text):
    cache.write(ONE)
    file_of(cache).write_text(text)
    with caplog.at_level(logging.WARNING):
        assert cache.read("s") == {}
    assert "cannot be read" in caplog.text
    assert CachedRegistry(Registry([ONE]), cache).newest("s") == ONE
    assert cache.read("s") == ONE.versions


def test_a_descriptor_that_changed_on_disk_is_noticed(cache):
    cache.write(ONE)
    kept = json.loads(file_of(cache).read_text())
    kept["versions"]["1"]["descriptor_set"] = "AAAA"
    file_of(cache).write_text(json.dumps(kept))
    assert cache.read("s") == {}


def test_a_folder_that_cannot_be_written_is_warned_of(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        SchemaCache(tmp_path / "file").write(ONE)
    assert "a restart needs the registry" in caplog.text


def test_the_registry_is_asked_first_and_told_what_is_kept(cache):
    cache.write(ONE)
    registry = Registry([TWO])
    assert CachedRegistry(registry, cache).newest("s", "event") == TWO
    assert registry.asked == [("s", "event", ONE.versions)]
    assert cache.read("s") == TWO.versions


def test_what_was_kept_holds_while_the_registry_is_down(cache, caplog):
    cache.write(TWO)
    with caplog.at_level(logging.WARNING):
        assert CachedRegistry(Registry([DOWN]), cache).newest("s") == TWO
    assert "cannot be reached" in caplog.text


def test_where_nothing_is_kept_the_registry_is_missed(cache):
    with pytest.raises(RegistryError, match="cannot be reached"):
        CachedRegistry(Registry([DOWN]), cache).newest("s")


def test_a_kept_version_that_makes_no_columns_is_no_answer(cache):
    cache.write(schemas("enum E { A = 0; }"))
    with pytest.raises(RegistryError, match="cannot be reached"):
        CachedRegistry(Registry([DOWN]), cache).newest("s")


def test_a_registry_that_denies_the_subject_is_believed(cache):
    cache.write(ONE)
    with pytest.raises(SchemaNotFoundError):
        CachedRegistry(Registry([GONE]), cache).newest("s")


def test_versions_found_later_are_kept_too(cache):
    registry = Registry([ONE, TWO])
    cached = CachedRegistry(registry, cache)
    assert cached.resolve(cached.newest("s"), [2]) == TWO
    assert cache.read("s") == TWO.versions
    assert registry.asked[1] == (ONE, [2])


def test_ids_never_met_wait_for_the_registry(cache):
    cache.write(ONE)
    cached = CachedRegistry(Registry([DOWN, DOWN]), cache)
    with pytest.raises(RegistryError):
        cached.resolve(cached.newest("s"), [2])


def test_nothing_is_written_where_nothing_changed(cache):
    cached = CachedRegistry(Registry([ONE, ONE.with_others([5], [], now=0)]), cache)
    known = cached.newest("s")
    before = file_of(cache).stat().st_mtime_ns
    cached.resolve(known, [5])
    assert file_of(cache).stat().st_mtime_ns == before
