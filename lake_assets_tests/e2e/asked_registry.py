"""A registry that notes what it is asked: a proxy before a real one."""

import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@contextmanager
def asked_registry(url: str) -> Iterator[tuple[str, set[str]]]:
    """Its address, and the requests so far, as `GET /subjects/{subject}/versions`."""
    asked: set[str] = set()
    base = urlsplit(url)

    class Proxy(BaseHTTPRequestHandler):
        def do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) or None
            path = urlsplit(self.path).path.removeprefix(base.path)
            asked.add(f"{self.command} {_in_general(path)}")
            target = f"{base.scheme}://{base.netloc}{self.path}"
            forwarded = urllib.request.Request(target, body, method=self.command)  # noqa: S310 - loopback
            kind = self.headers.get("Content-Type")
            if kind:
                forwarded.add_header("Content-Type", kind)
            try:
                with urllib.request.urlopen(forwarded, timeout=30) as answer:  # noqa: S310
                    self._answer(answer.status, answer.read())
            except urllib.error.HTTPError as problem:
                self._answer(problem.code, problem.read())

        do_GET = do_POST = do_PUT = do_DELETE = do  # noqa: N815 - the base's names

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Tell nobody."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}{base.path}", asked
        finally:
            server.shutdown()


def _in_general(path: str) -> str:
    path = re.sub(r"^/subjects/[^/]+", "/subjects/{subject}", path)
    path = re.sub(r"/versions/[^/]+$", "/versions/{version}", path)
    return re.sub(r"^/schemas/ids/[^/]+", "/schemas/ids/{id}", path)
