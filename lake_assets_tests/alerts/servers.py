"""A real HTTP server and a real mail server on loopback, which can be down, slow or refuse."""

import json
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from lake_assets.demo.dagster_dev import free_port


class Hook:
    """Takes posts; start and stop it any number of times, always on one port."""

    def __init__(self) -> None:
        """Find a port; nothing listens yet."""
        self.got: list[dict[str, Any]] = []
        self.answer = 200
        self.hold = threading.Event()
        self.hold.set()
        """Cleared, requests get no answer until it is set."""
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.start()
        self.stop()

    @property
    def url(self) -> str:
        """Its address, with a secret in it."""
        return f"http://127.0.0.1:{self._port}/services/hush"

    def start(self) -> None:
        """Listen."""
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.hold.wait(30)
                if hook.answer == 200:
                    hook.got.append(json.loads(body))
                self.send_response(hook.answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening."""
        self.hold.set()
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class Mailbox(Message):
    """Keeps what its server takes."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self.got: list[Any] = []

    def handle_message(self, message: Any) -> None:
        """Keep a message."""
        self.got.append(message)


class PostOffice:
    """A mail server; start and stop it any number of times, always on one port."""

    def __init__(self, **options: Any) -> None:
        """Take aiosmtpd's options; nothing listens yet."""
        self.mailbox = Mailbox()
        self.port = free_port(0)
        self._options = options
        self._controller: Controller | None = None

    def start(self) -> None:
        """Listen."""
        self._controller = Controller(
            self.mailbox, hostname="127.0.0.1", port=self.port, **self._options
        )
        self._controller.start()

    def stop(self) -> None:
        """Stop listening."""
        if self._controller:
            self._controller.stop()
            self._controller = None

    def subjects(self) -> list[str]:
        """What came, in order."""
        return [str(message["Subject"]) for message in self.mailbox.got]


def only_hush(
    _server: object, _session: object, _envelope: object, _how: object, login: Any
) -> Any:
    """Let in who says `me` and `hush`."""
    is_known = (login.login, login.password) == (b"me", b"hush")
    return AuthResult(success=is_known, handled=False)


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A self-signed certificate for `localhost`, and a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_file, cert_file = folder / "key.pem", folder / "cert.pem"
    key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    cert_file.write_bytes(signed.public_bytes(Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert_file, key_file)
    return cert_file, context
