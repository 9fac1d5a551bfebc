"""Several subjects of a real registry: what is there, comes, is deleted, or does not answer."""

import json
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lake_assets.errors import RegistryError, SchemaNotFoundError, SchemaUnusableError
from lake_assets.formats.avro.language import AVRO
from lake_assets.formats.confluent.cache import SchemaCache
from lake_assets.formats.confluent.registry import MOST_ASKED, Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.subjects.registry import SubjectsRegistry
from lake_assets.model.subjects import Subjects

UNO = "message Uno { int32 color = 1; }"
CHESS = "message Chess { int64 elo = 1; }"


class World:
    """Subjects that begin alike, and with whose name no other test's do."""

    def __init__(self, url, cache):
        self.url, self.cache = url, SchemaCache(cache)
        self.prefix = f"s{uuid4().hex[:8]}"
        self.conf = {"url": url}

    def name(self, short):
        return f"{self.prefix}-{short}"

    def register(self, short, body, package=""):
        text = f'syntax = "proto3"; package {package or self.prefix}; {body}'
        with SchemaRegistryClient(self.conf) as client:
            return int(client.register_schema(self.name(short), Schema(text, "PROTOBUF")))

    def register_avro(self, short, *names):
        fields = [{"name": name, "type": "int", "default": 0} for name in names]
        record = {"type": "record", "name": f"{self.prefix}_{short}", "fields": fields}
        with SchemaRegistryClient(self.conf) as client:
            schema = Schema(json.dumps(record), "AVRO")
            return int(client.register_schema(self.name(short), schema))

    def of_avro(self, *shorts):
        choice = self.of(*shorts).choice
        return SubjectsRegistry(choice, Registry(self.url, AVRO, takes_deleted=True))

    def delete_version(self, short, number):
        with SchemaRegistryClient(self.conf) as client:
            client.delete_version(self.name(short), number)

    def delete(self, short):
        with SchemaRegistryClient(self.conf) as client:
            client.delete_subject(self.name(short))

    def of(self, *shorts, url=""):
        names = tuple(map(self.name, shorts))
        choice = Subjects(names=names) if names else Subjects(pattern=rf"{self.prefix}-\w+")
        return SubjectsRegistry(choice, Registry(url or self.url, PROTOBUF), self.cache)

    def owners(self, schemas):
        return {one: whose.removeprefix(f"{self.prefix}-") for one, whose in schemas.owners.items()}


DOWN = "http://127.0.0.1:1"


@pytest.fixture
def world(services, tmp_path):
    return World(services.registry, tmp_path)


def test_subjects_are_found_by_name_and_by_a_pattern_and_others_are_foreign(world):
    ids = {short: world.register(short, body) for short, body in (("b", UNO), ("a", CHESS))}
    other = world.register("x.y", "message Go { string stone = 1; }")
    for found in (world.of(), world.of("b", "a")):
        schemas = found.newest()
        assert world.owners(schemas) == {ids["b"]: "b", ids["a"]: "a"}
        assert list(schemas.sets) == [world.name("b"), world.name("a")]  # as they were registered
        schemas = found.resolve(schemas, [ids["a"], other, 999_999_999, 0])
        assert schemas.others.foreign_ids == {other}
        assert schemas.others.unknown_ids == {999_999_999, 0}
        assert found.resolve(schemas, [other]) is schemas


@pytest.mark.parametrize("shorts", [(), ("uno", "chess")])
def test_a_subject_that_is_registered_later_is_found_by_its_row(world, shorts):
    uno = world.register("uno", UNO)
    found = world.of(*shorts)
    schemas = found.newest()
    chess = world.register("chess", CHESS)
    schemas = found.resolve(schemas, [chess])
    assert world.owners(schemas) == {uno: "uno", chess: "chess"}
    # And it is known on while the registry is down.
    assert world.of(*shorts, url=DOWN).newest().owners == schemas.owners


def test_new_versions_of_a_known_subject_are_found(world):
    first = world.register("uno", UNO)
    schemas = world.of().newest()
    second = world.register("uno", UNO.replace("}", "string more = 2; }"))
    assert world.owners(world.of().resolve(schemas, [second])) == {first: "uno", second: "uno"}


def test_equal_texts_have_one_id_which_is_the_leading_subjects(world):
    one = world.register("uno", UNO)
    assert world.register("other", UNO) == one
    assert world.owners(world.of("uno", "other").newest()) == {one: "uno"}
    assert world.owners(world.of("other", "uno").newest()) == {one: "other"}
    assert world.owners(world.of().newest()) == {one: "other"}  # the first by name


def test_versions_of_a_deleted_subject_are_read_on(world):
    uno, chess = world.register("uno", UNO), world.register("chess", CHESS)
    world.delete("chess")
    for found in (world.of(), world.of("uno", "chess")):
        schemas = found.newest()
        assert world.owners(schemas) == {uno: "uno"}
        schemas = found.resolve(schemas, [chess])
        assert world.owners(schemas) == {uno: "uno", chess: "chess"}
        assert schemas.sets[world.name("chess")].versions[chess].is_deleted


def test_where_no_subject_is_there_somebody_must_wait(world):
    for found in (world.of(), world.of("uno", "chess")):
        with pytest.raises(SchemaNotFoundError, match="have no schema in the registry"):
            found.newest()
        found.check()
    world.register("uno", "message Uno {}")
    with pytest.raises(SchemaUnusableError):
        world.of().newest()


def test_without_an_answer_or_anything_kept_the_registry_is_missed(world):
    down = world.of(url=DOWN)
    for question in (down.newest, down.check):
        with pytest.raises(RegistryError, match="cannot be reached"):
            question()
    uno = world.register("uno", UNO)
    schemas = world.of().newest()
    with pytest.raises(RegistryError, match="cannot be reached"):
        down.resolve(schemas, [uno + 1])
    assert down.newest().owners == schemas.owners


def test_of_a_subject_that_is_no_more_nothing_is_kept(world):
    world.register("uno", UNO)
    world.register("chess", CHESS)
    world.of().newest()
    world.delete("chess")
    world.of().newest()
    assert set(world.of(url=DOWN).newest().sets) == {world.name("uno")}


def test_a_file_of_the_cache_that_cannot_be_read_hides_no_other(world):
    world.register("uno", UNO)
    world.of().newest()
    (world.cache.folder / "torn.json").write_text("{")
    (world.cache.folder / "other.json").write_text(json.dumps([]))
    assert set(world.of(url=DOWN).newest().sets) == {world.name("uno")}


def test_a_flood_of_ids_is_not_asked_about_one_by_one(world):
    world.register("uno", UNO)
    schemas = world.of().newest()
    chess = world.register("chess", CHESS)
    ids = range(900_000_000, 900_000_000 + MOST_ASKED)
    flooded = world.of().resolve(schemas, [*ids, chess])
    assert flooded.others.is_flooded
    assert world.owners(flooded)[chess] == "chess"
    assert flooded.others.unknown_ids == frozenset()


def test_a_schema_in_another_language_is_a_version_that_cannot_be_used(world):
    uno = world.register("uno", UNO)
    with SchemaRegistryClient(world.conf) as client:
        text = json.dumps({"type": "string", "doc": world.prefix})
        other = client.register_schema(world.name("avro"), Schema(text, "AVRO"))
    schemas = world.of().newest()
    assert world.owners(schemas) == {uno: "uno", other: "avro"}
    assert schemas.sets[world.name("avro")].versions[other].problem == "is AVRO, not PROTOBUF"


def test_subjects_are_asked_about_side_by_side_with_their_deleted_versions(world, monkeypatch):
    shorts = [f"s{at:02}" for at in range(20)]
    ids = {short: world.register_avro(short, "a") for short in shorts}
    second = world.register_avro("s01", "a", "b")
    gone = world.register_avro("s02", "a", "b")
    world.delete_version("s02", 2)
    asked = []
    real = SchemaRegistryClient.get_versions

    def count(client, *args, **options):
        asked.append(args)
        return real(client, *args, **options)

    monkeypatch.setattr(SchemaRegistryClient, "get_versions", count)
    schemas = world.of_avro().newest()
    assert len(asked) == 22  # once a subject, twice where that tells of several versions
    owners = {schema_id: short for short, schema_id in ids.items()}
    assert world.owners(schemas) == {**owners, second: "s01", gone: "s02"}
    deleted = {
        schema_id
        for one in schemas.sets.values()
        for schema_id, version in one.versions.items()
        if version.is_deleted
    }
    assert deleted == {gone}


def test_a_named_subject_all_of_whose_versions_are_deleted_is_not_there(world):
    uno = world.register_avro("uno", "a")
    world.register_avro("chess", "a")
    world.delete("chess")
    assert world.owners(world.of_avro("uno", "chess").newest()) == {uno: "uno"}
