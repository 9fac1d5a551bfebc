"""What a registry asks of a client: HTTPS, passwords, tokens, certificates."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from confluent_kafka.schema_registry.error import SchemaRegistryError
from pydantic import SecretStr

from lake_assets.errors import RegistryError
from lake_assets.formats.confluent.registry_client import answered, check_registry
from lake_assets.model.endpoints import RegistryAccess
from lake_assets_tests.certificates import Authority, Signed
from lake_assets_tests.services.secured import MARKER

TOKEN = f"{MARKER}.token"


@contextmanager
def registry_with(
    server: Signed | None, clients: Authority | None = None, token: str | None = None
) -> Iterator[str]:
    """A server that lists no subjects, to those with a certificate or a token; HTTPS with one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = token is None or self.headers.get("Authorization") == f"Bearer {token}"
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        if server is not None:
            trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            trust.load_cert_chain(server.certificate, server.key)
            if clients is not None:
                trust.verify_mode = ssl.CERT_REQUIRED
                trust.load_verify_locations(clients.file)
            web.socket = trust.wrap_socket(web.socket, server_side=True)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield f"http{'s' if server else ''}://localhost:{web.server_port}"
        web.shutdown()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server(authority: Authority) -> Signed:
    return authority.sign("server", ("localhost",))


@pytest.mark.kafka
def test_who_knows_the_password_is_let_in(secured_registry):
    check_registry(secured_registry.url, secured_registry.access())


@pytest.mark.kafka
def test_a_wrong_password_is_told_without_it(secured_registry):
    wrong = secured_registry.access(password=f"{MARKER} wrong")
    with pytest.raises(RegistryError, match=r"refuses us \(401\)\. Correct .*_USER") as raised:
        check_registry(secured_registry.url, wrong)
    assert f"schema registry {secured_registry.url}: " in str(raised.value)
    assert MARKER not in str(raised.value)


@pytest.mark.kafka
def test_a_registry_that_nobody_vouches_for_is_not_trusted(secured_registry):
    unknown = replace(secured_registry.access(), ca=None)
    with pytest.raises(RegistryError, match=r"its certificate is not accepted \(.*certificate"):
        check_registry(secured_registry.url, unknown)


@pytest.mark.parametrize(
    ("host", "lasts", "fact"),
    [
        ("localhost", timedelta(hours=-1), "certificate has expired"),
        ("elsewhere.example", timedelta(days=1), "Hostname mismatch"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_told(authority, host, lasts, fact):
    server = authority.sign("server", (host,), lasts=lasts)
    with (
        registry_with(server) as url,
        pytest.raises(RegistryError, match=rf"its certificate is not accepted \({fact}"),
    ):
        check_registry(url, RegistryAccess(ca=authority.file))


def test_authorities_are_read_only_where_one_is_asked(monkeypatch, server):
    def read(*_, **__):
        pytest.fail("the authorities that the machine trusts were read")

    with registry_with(None) as plain, registry_with(server) as signed:
        with pytest.raises(RegistryError, match="its certificate is not accepted"):
            check_registry(signed, RegistryAccess())
        monkeypatch.setattr(ssl, "create_default_context", read)
        check_registry(plain, RegistryAccess())


def test_a_token_lets_in(authority, server):
    with registry_with(server, token=TOKEN) as url:
        access = RegistryAccess(ca=authority.file, token=SecretStr(TOKEN))
        check_registry(url, access)
        with pytest.raises(RegistryError, match=r"refuses us \(401\)") as raised:
            check_registry(url, replace(access, token=SecretStr(f"{MARKER} wrong")))
    assert MARKER not in str(raised.value)


def test_a_certificate_lets_in(authority, server):
    mine = authority.sign("me", password=MARKER)
    with registry_with(server, clients=authority) as url:
        access = RegistryAccess(
            ca=authority.file,
            certificate=mine.certificate,
            key=mine.key,
            key_password=SecretStr(MARKER),
        )
        check_registry(url, access)
        with pytest.raises(RegistryError, match="cannot be reached"):
            check_registry(url, RegistryAccess(ca=authority.file))


@pytest.mark.parametrize(
    "wrong", [{"ca": "none.pem"}, {"certificate": "none.pem"}, {"key_password": "wrong"}]
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, authority, wrong):
    mine = authority.sign("me", password=MARKER)
    good = RegistryAccess(
        ca=authority.file,
        certificate=mine.certificate,
        key=mine.key,
        key_password=SecretStr(MARKER),
    )
    given = {
        name: SecretStr(value) if name == "key_password" else tmp_path / value
        for name, value in wrong.items()
    }
    with pytest.raises(RegistryError, match=r"\.(pem|crt).* cannot be used") as raised:
        check_registry("https://localhost:1", replace(good, **given))
    assert "Correct LAKE_ASSETS_REGISTRY_CA" in str(raised.value)
    assert MARKER not in str(raised.value)


@pytest.mark.parametrize("url", ["not a url", "http://[", ""])
def test_a_wrong_address_is_told(url):
    with pytest.raises(RegistryError, match=f"schema registry {url}".replace("[", r"\[")):
        check_registry(url, RegistryAccess())


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Unknown Schema Registry Error: b'<html>x</html>'", "answered 500 (<html>x</html>)"),
        ("Unknown Schema Registry Error: b''", "answered 500"),
        ("Error in the backend", "answered 500 (Error in the backend)"),
    ],
)
def test_an_answer_that_is_none_is_told_without_signs_of_python(message, told):
    assert answered(SchemaRegistryError(500, -1, message)) == told
