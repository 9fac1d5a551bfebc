from pydantic import SecretStr

from lake_assets.model.endpoints import Endpoints, RegistryAccess


def test_options_are_masked_however_they_are_given():
    given = {"sasl.password": "hush", "ssl.key.pem": SecretStr("hush")}
    found = Endpoints(kafka="h:1", registry="http://h", kafka_options=given)
    assert "hush" not in f"{found!r} {found.kafka_options}"
    assert found.client_options() == {"sasl.password": "hush", "ssl.key.pem": "hush"}


def test_what_a_registry_asks_for_is_masked():
    access = RegistryAccess(user="me", password=SecretStr("hush"), token=SecretStr("hush"))
    found = Endpoints(kafka="", registry="", registry_access=access)
    assert "hush" not in repr(found)
