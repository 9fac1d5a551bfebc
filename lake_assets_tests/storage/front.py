"""What stands before a server that speaks S3 in tests, and does to requests what goes wrong.

`python -m lake_assets_tests.storage.front moto|URL`: before moto's, in this process, or another.
Ends with its standard input. What goes wrong is told at `/_test/…`; `servers` has it for tests.
"""

import http.client
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from lake_assets_tests.storage.servers import PAGE

Environ: TypeAlias = dict[str, Any]
Start: TypeAlias = Callable[..., Any]
Answer: TypeAlias = tuple[str, list[tuple[str, str]], bytes]
"""Status, headers and body."""

_PASSED_OVER = {"blind": ("HTTP_IF_NONE_MATCH",), "unversioned": ("HTTP_IF_MATCH",)}
"""Conditions that do not count, by what goes wrong."""

_SESSION = "HTTP_X_AMZ_SECURITY_TOKEN"
_UNKNOWN = (_SESSION, "HTTP_X_AMZ_CHECKSUM_SHA256")
"""To S3Proxy: it looks at no credentials here, and answers 501 to checksums of deletions."""

_OWN = {"connection", "transfer-encoding", "date", "server"}
"""Headers that the front's own server says."""

_UUID = rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_UPLOADS = rb"<Contents><Key>(\.mpus-[^<]*|" + _UUID + rb")</Key>.*?</Contents>"
"""Of S3Proxy: it keeps unfinished uploads right in the bucket, where S3 shows none."""


def before_moto() -> Callable[[Environ], Answer]:
    """What moto answers, in this process; its settings are variables."""
    moto, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def ask(environ: Environ) -> Answer:
        told: list[Any] = []
        with turn:
            body = b"".join(moto(environ, lambda *start: told.extend(start)))
        return told[0], told[1], body

    return ask


def before(url: str) -> Callable[[Environ], Answer]:
    """What another server answers."""
    address = urlsplit(url).netloc

    def ask(environ: Environ) -> Answer:
        path, method = environ["RAW_URI"], environ["REQUEST_METHOD"]
        if "list-type=2" in path:
            path += f"&max-keys={PAGE}"
        names = {"CONTENT_TYPE", "CONTENT_LENGTH"} & environ.keys()
        names |= {name for name in environ if name.startswith("HTTP_")} - {*_UNKNOWN}
        headers = {n.removeprefix("HTTP_").replace("_", "-"): environ[n] for n in names}
        connection = http.client.HTTPConnection(address, timeout=60)
        if "continuation-token=" in path:  # S3 passes over the other; S3Proxy refuses both
            path = re.sub("&start-after=[^&]*", "", path)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        content = environ["wsgi.input"].read(length)
        if len(content) < length:  # whoever asked is gone
            raise ConnectionAbortedError
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        kept = [(n, v) for n, v in answer.getheaders() if n.lower() not in _OWN]
        if "list-type=2" in path:
            body = re.sub(_UPLOADS, b"", body)
            kept = [one for one in kept if one[0].lower() != "content-length"]
        return f"{answer.status} {answer.reason}", kept, body

    return ask


class Front:
    """A WSGI application before a server."""

    def __init__(self, ask: Callable[[Environ], Answer]) -> None:
        self._ask = ask
        self._faults: list[dict[str, str]] = []
        self._asked: list[list[str]] = []
        self._came: dict[str, float] = {}
        self._writing, self._forgiven = threading.Lock(), threading.Event()

    def __call__(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        path = path.encode("latin-1").decode("utf-8", "replace")
        if path.startswith("/_test/"):
            start_response("200 OK", [])
            return [self._control(path, parse_qs(environ["QUERY_STRING"], keep_blank_values=True))]
        said = [method, path, environ["QUERY_STRING"], environ.get("HTTP_RANGE", "")]
        self._asked.append(said)
        fault = self._fault(environ, said) or {"does": ""}
        if fault["does"] == "error":
            start_response(f"{fault['status']} Refused", [("Content-Type", "application/xml")])
            return [f"<Error><Code>{fault['code']}</Code></Error>".encode()]
        self._before(environ, fault, path)
        status, headers, body = self._answer(environ, path)
        if fault["does"] == "lost":
            raise hung_up(environ)
        if fault["does"] == "lag" and "list-type" in environ["QUERY_STRING"]:
            body = self._without_new(body, path, float(fault["seconds"]))
            headers = [one for one in headers if one[0].lower() != "content-length"]
        start_response(status, headers)
        return [body[: len(body) // 2]] if fault["does"] == "cut" else [body]

    def _before(self, environ: Environ, fault: dict[str, str], path: str) -> None:
        does = fault["does"]
        if does == "stall":
            self._forgiven.wait(float(fault["seconds"]))
        if does == "torn":
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0) // 2)
            raise hung_up(environ)
        if does == "racing" and path not in self._came:
            time.sleep(0.2)  # since it was looked whether it is there
            environ.pop("HTTP_IF_NONE_MATCH", None)
        for name in _PASSED_OVER.get(does, ()):
            environ.pop(name, None)

    def _answer(self, environ: Environ, path: str) -> Answer:
        # S3 looks whether a file is there and puts it in one step; moto (5.2) and S3Proxy (2.9) do
        # in two.
        method = environ["REQUEST_METHOD"]
        if method in {"GET", "HEAD"}:
            return self._ask(environ)
        with self._writing:
            answer = self._ask(environ)
            if method != "DELETE" and answer[0].startswith("200"):
                self._came.setdefault(path, time.monotonic())
            if method == "DELETE":
                self._came.pop(path, None)
        return answer

    def _without_new(self, listed: bytes, path: str, seconds: float) -> bytes:
        bucket, now = path.strip("/"), time.monotonic()

        def seen(match: re.Match[bytes]) -> bytes:
            key = re.search(b"<(?:Key|Prefix)>(.*?)</", match[0])
            name = f"/{bucket}/" + unquote(key[1].decode()) if key else ""
            times = [at for one, at in self._came.items() if one.startswith(name)]
            return b"" if times and now - min(times) < seconds else match[0]

        found = re.sub(b"<Contents>.*?</Contents>", seen, listed, flags=re.DOTALL)
        return re.sub(b"<CommonPrefixes>.*?</CommonPrefixes>", seen, found, flags=re.DOTALL)

    def _control(self, path: str, query: dict[str, list[str]]) -> bytes:
        if path == "/_test/refuse":
            self._forgiven.clear()
            self._faults.append({name: values[0] for name, values in query.items()})
        elif path == "/_test/forgive":
            self._faults.clear()
            self._forgiven.set()
        told = self._asked.copy()
        self._asked.clear()
        return json.dumps(told).encode()

    def _fault(self, environ: Environ, said: list[str]) -> dict[str, str] | None:
        method, path, query, _ = said
        token = environ.get(_SESSION, "")
        for one in self._faults:
            fits = one["method"] in {method, "*"} and one["part"] in f"{path}?{query}"
            if fits and one.get("token", token) == token and int(one["times"]):
                one["times"] = str(int(one["times"]) - 1)
                return one
        return None


def hung_up(environ: Environ) -> ConnectionAbortedError:
    """End the connection; what the server is told of it."""
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return ConnectionAbortedError()


def main() -> None:
    """Serve, and say at which port."""
    behind = sys.argv[1]
    ask = before_moto() if behind == "moto" else before(behind)
    server = make_server("127.0.0.1", 0, Front(ask), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it ends
    server.shutdown()


if __name__ == "__main__":
    main()
