from dataclasses import replace

from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.formats.column_reasons import reasons_of, versions_in
from lake_assets.formats.confluent.schemas import Version
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.payload import Payload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.schema_history import Reason, Why
from lake_assets_tests.formats.protobuf.given import descriptor_set_of, schemas
from lake_assets_tests.sample import GAMES

NOWHERE = Surroundings(registry_access=RegistryAccess())


def of_json(**declared):
    feed = GAMES.model_copy(update={"payload": Payload.model_validate({"json": declared})})
    made = format_of(feed, NOWHERE)
    assert versions_in(made.newest()) == ()
    return reasons_of(feed.payload, made, made.newest(), ())


def test_columns_of_json_are_declared_inferred_or_found():
    inferring = of_json(infer=True, hints="kcal int")
    assert inferring("kcal", "int") == inferring("_rescued", "string") == Reason(Why.DECLARED)
    assert inferring("n", "bigint") == Reason(Why.INFERRED)
    assert of_json(schema="a int", on_unknown="add_columns")("n", "int") == Reason(Why.INFERRED)
    assert of_json(schema="a int")("n", "int") == Reason(Why.FOUND)


ONE = "message event { string a = 1; int32 b = 2; }"
TWO = "message event { string a = 1; int64 b = 2; string c = 3; }"


def test_a_registered_column_is_of_the_first_version_that_has_it_so():
    known = schemas(ONE, TWO)
    made = ProtobufFormat(ProtobufPayload(subject="s"), registry=None)
    why = reasons_of(GAMES.payload, made, known, ())
    assert why("a", "string") == Reason(Why.REGISTRY, 1, 1, "s")
    assert why("b", "int") == Reason(Why.REGISTRY, 1, 1, "s")
    assert why("b", "bigint") == Reason(Why.REGISTRY, 2, 2, "s")
    assert why("c", "string") == Reason(Why.REGISTRY, 2, 2, "s")
    # What comes of two versions, neither of which has the type: the newest that has the name.
    assert why("b", "decimal(20,0)") == Reason(Why.REGISTRY, 2, 2, "s")
    assert why("older", "string") == Reason(Why.FOUND)


def test_the_versions_that_are_known_are_told_with_what_decodes_them():
    known = schemas(ONE)
    broken = Version(number=2, problem="is not valid")
    found = versions_in(replace(known, versions={**known.versions, 9: broken}))
    assert [(one.version, one.schema_id, one.note) for one in found] == [
        (1, 1, ""),
        (2, 9, "is not valid"),
    ]
    assert found[0].schema == descriptor_set_of(ONE)
