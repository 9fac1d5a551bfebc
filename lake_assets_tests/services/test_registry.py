import socket

import pytest

from lake_assets.services import registry


@pytest.mark.kafka
def test_the_registry_answers(services):
    assert registry.answers(int(services.registry.split(":")[2].split("/")[0]))


def test_a_closed_port_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert not registry.answers(port)
