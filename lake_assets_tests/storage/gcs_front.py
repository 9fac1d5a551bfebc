"""A proxy that answers in the name of Google's storage, from a fake-gcs-server behind it.

`python -m lake_assets_tests.storage.gcs_front ADDRESS CERTIFICATE KEY ACCOUNT`: who asks it for
`storage.googleapis.com` is answered here, with a certificate of the tests' own. So Spark's
connector, which knows no other address, and Rust's ask as they would ask Google. Each request has
to be signed by the account. Ends with its standard input.
"""

import base64
import json
import re
import secrets
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from lake_assets_tests.storage.gcs_xml import Answer, Asked, Server, XmlApi

HOSTS = ("storage.googleapis.com", "oauth2.googleapis.com")
"""In whose name it answers: a bucket's, and of whoever gives Java a token for a signature."""

_BATCH = "/batch/storage/v1"
"""Several requests in one, each with a login of its own."""

_JSON_API = ("/storage/v1/", "/download/storage/v1/", "/upload/storage/v1/", _BATCH)

_OWN = {"connection", "transfer-encoding", "date", "content-length", "host"}
"""Headers of a connection, not of what is told on it."""


class Account:
    """A service account, by the file of its key, and the tokens that were given out to it."""

    def __init__(self, file: Path) -> None:
        self._told = json.loads(file.read_text())
        key = load_pem_private_key(self._told["private_key"].encode(), None)
        assert isinstance(key, RSAPrivateKey)
        self._key = key.public_key()
        self._tokens: set[str] = set()

    def has_signed(self, token: str) -> bool:
        """Whether it is a JSON web token of the account that is valid now."""
        try:
            said, _, signature = token.rpartition(".")
            self._key.verify(_decoded(signature), said.encode(), PKCS1v15(), SHA256())
            claims = json.loads(_decoded(said.partition(".")[2]))
        except (InvalidSignature, ValueError):
            return False
        return bool(claims["iss"] == self._told["client_email"] and claims["exp"] > time.time())

    def give_token(self, body: bytes) -> Answer:
        """Exchange what the account has signed for a token."""
        (assertion,) = parse_qs(body.decode()).get("assertion", [""])
        if not self.has_signed(assertion):
            return Answer(400, body=b'{"error": "invalid_grant"}')
        self._tokens.add(token := secrets.token_hex(16))
        told = {"access_token": token, "expires_in": 3600, "token_type": "Bearer"}
        return Answer(200, {"content-type": "application/json"}, json.dumps(told).encode())

    def lets_in(self, authorization: str) -> bool:
        """Whether a request is the account's."""
        token = authorization.removeprefix("Bearer ")
        return token in self._tokens or self.has_signed(token)


def _authorizations(asked: Asked) -> list[str]:
    """Of a request, or of those in it; one that is empty where there is none."""
    if not asked.path.startswith(_BATCH):
        return [asked.headers.get("authorization", "")]
    found = re.findall(rb"^authorization: *(.*?)\r?$", asked.body, re.IGNORECASE | re.MULTILINE)
    return [one.decode() for one in found] or [""]


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Proxy(ThreadingHTTPServer):
    """Waits for connections at a free port."""

    daemon_threads = True

    def __init__(self, behind: Server, account: Account, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind, self.account, self.tls = behind, account, tls
        self.xml = XmlApi(behind)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who are gone, such as processes that a test kills."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def answer(self, host: str, asked: Asked) -> Answer:
        """What is told in the name of a host."""
        if host == HOSTS[1]:
            return self.account.give_token(asked.body)
        if not host:
            return Answer(403)
        if not all(map(self.account.lets_in, _authorizations(asked))):
            code = b"<Error><Code>AuthenticationRequired</Code></Error>"
            return Answer(401, {"content-type": "application/xml"}, code)
        if not asked.path.startswith(_JSON_API):
            return self.xml.answer(asked)
        headers = {name: value for name, value in asked.headers.items() if name not in _OWN}
        return self.behind.ask(replace(asked, headers=headers))


class Handler(BaseHTTPRequestHandler):
    """One connection, on which TLS begins after `CONNECT`."""

    protocol_version = "HTTP/1.1"
    server: Proxy
    host = ""

    def do_CONNECT(self) -> None:
        self.host = self.path.partition(":")[0]
        if self.host not in HOSTS:
            self.send_error(403)
            return
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb")
        self.close_connection = False

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(method=self.command, path=self.path, headers=headers, body=self._body())
        answer = self.server.answer(self.host, asked)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name not in _OWN:
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        length = answer.headers.get("content-length") if is_head else None
        self.send_header("Content-Length", length or str(len(answer.body)))
        self.end_headers()
        self.wfile.write(b"" if is_head else answer.body)
        self.wfile.flush()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - as they are looked for

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(self._chunks())
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # whoever asked is gone
            raise ConnectionAbortedError
        return body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve, and say at which port."""
    address, certificate, key, account = sys.argv[1:]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    proxy = Proxy(Server(address), Account(Path(account)), tls)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    sys.stdout.write(f"{proxy.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it ends
    proxy.shutdown()


if __name__ == "__main__":
    main()
