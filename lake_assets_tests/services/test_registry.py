import socket

import pytest

from lake_assets.services import registry


@pytest.mark.kafka
def test_the_registry_answers(services):
    assert registry.reaches(services.registry) is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "not a url", "http://[", ""])
def test_a_wrong_address_says_why(url):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert registry.reaches(url.format(port=port))
