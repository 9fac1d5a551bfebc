import socket
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lake_assets.errors import RegistryError
from lake_assets.model.endpoints import Endpoints
from lake_assets.simulator.games.registration import Registration


@pytest.mark.kafka
def test_versions_are_registered_with_full_compatibility(services):
    subject = f"s-{uuid4().hex[:8]}"
    registration = Registration(endpoints=services, subject=subject)
    registration.prepare()
    prefixes = [registration.prefix(version) for version in range(3)]
    with SchemaRegistryClient({"url": services.registry}) as client:
        ids = [client.get_version(subject, version).schema_id for version in (1, 2, 3)]
        level = client.get_compatibility(subject)
    assert prefixes == [b"\0" + int(one or 0).to_bytes(4) + b"\0" for one in ids]
    assert level == "FULL"


@pytest.mark.kafka
def test_registering_again_changes_nothing(services):
    subject = f"s-{uuid4().hex[:8]}"
    registration = Registration(endpoints=services, subject=subject)
    registration.prepare()
    first = [registration.prefix(version) for version in range(2)]
    registration.prepare()
    assert [registration.prefix(version) for version in range(2)] == first


@pytest.mark.kafka
def test_a_subject_with_other_schemas_is_refused(services):
    subject = f"s-{uuid4().hex[:8]}"
    with SchemaRegistryClient({"url": services.registry}) as client:
        text = f'syntax = "proto3"; message event {{ int32 game_name = 1; }} // {subject}'
        client.register_schema(subject, Schema(text, "PROTOBUF"))
    registration = Registration(endpoints=services, subject=subject)
    registration.prepare()
    with pytest.raises(RegistryError, match=f"subject '{subject}' .* is refused"):
        registration.prefix(0)


def test_a_registry_that_is_not_there_is_reported():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        registration = Registration(endpoints=Endpoints(kafka="", registry=url), subject="s")
        with pytest.raises(RegistryError, match=f"{url}: cannot be reached"):
            registration.prepare()
