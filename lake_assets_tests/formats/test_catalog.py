from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of, ids_in
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.payload import Payload
from lake_assets_tests.sample import GAMES

AVRO = Payload.model_validate({"avro": {"subject": "s"}})
JSON = Payload.model_validate({"json": {"schema": "game_name string"}})
NOWHERE = Surroundings(registry_access=RegistryAccess())


def test_each_format_that_can_be_declared_is_there():
    for payload in (GAMES.payload, AVRO, JSON):
        made = format_of(GAMES.model_copy(update={"payload": payload}), NOWHERE)
        assert "value" in type(made).reads  # type: ignore[attr-defined]  # of its class


def test_only_registered_schemas_need_a_registry_and_framing():
    assert (GAMES.payload.needs_registry, ids_in(GAMES.payload) is not None) == (True, True)
    assert (AVRO.needs_registry, ids_in(AVRO) is not None) == (True, True)
    assert (JSON.needs_registry, ids_in(JSON) is not None) == (False, False)


def test_json_is_planned_without_anybody_being_asked():
    made = format_of(GAMES.model_copy(update={"payload": JSON}), NOWHERE)
    made.check()
    assert made.newest().declared.names == ["game_name"]
