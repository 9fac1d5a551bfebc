"""A server that hands out signed tokens for a client's name and secret, as OAuth 2 has it."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

_LASTS_S = 3600


class Issuer:
    """Signs tokens; the keys to check them with are in `keys`."""

    def __init__(self, folder: Path, secrets: dict[str, str]) -> None:
        """Hand tokens to who knows the secret of its name."""
        folder.mkdir(parents=True, exist_ok=True)
        self._secrets = secrets
        self._key = rsa.generate_private_key(65537, 2048)
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "alg": "RS256",
            "use": "sig",
            "kid": "one",
            "n": _coded(numbers.n.to_bytes(256)),
            "e": _coded(numbers.e.to_bytes(3)),
        }
        self.keys = folder / "keys.json"
        self.keys.write_text(json.dumps({"keys": [key]}))
        self.url = ""

    def answer(self, authorization: str) -> dict[str, object] | None:
        """A token, or None for who is not known."""
        given = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        name, _, secret = given.partition(":")
        if self._secrets.get(name) != secret:
            return None
        now = int(time.time())
        claims = {"sub": name, "iat": now, "exp": now + _LASTS_S, "scope": "kafka"}
        head = _coded(json.dumps({"alg": "RS256", "typ": "JWT", "kid": "one"}).encode())
        text = f"{head}.{_coded(json.dumps(claims).encode())}"
        signature = self._key.sign(text.encode(), padding.PKCS1v15(), SHA256())
        token = f"{text}.{_coded(signature)}"
        return {"access_token": token, "token_type": "Bearer", "expires_in": _LASTS_S}


@contextmanager
def issuing(issuer: Issuer) -> Iterator[Issuer]:
    """Have an issuer answer at its `url`, which is set here."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found = issuer.answer(self.headers.get("Authorization", ""))
            body = json.dumps(found or {"error": "invalid_client"}).encode()
            self.send_response(200 if found else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        issuer.url = f"http://localhost:{server.server_port}/token"
        yield issuer
        server.shutdown()


def _coded(given: bytes) -> str:
    return base64.urlsafe_b64encode(given).rstrip(b"=").decode()
