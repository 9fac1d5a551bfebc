"""A server that speaks S3, as a process of its own: moto's, on a free port."""

import html
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

_PROGRAM = """
import json, os, sys, threading
from urllib.parse import parse_qs
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = sys.argv[1]
if len(sys.argv) > 2:
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = sys.argv[2]
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

moto, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()
refusals, asked = [], []

def control(path, query):
    if path == "/_test/refuse":
        refusals.append({name: values[0] for name, values in query.items()})
    elif path == "/_test/forgive":
        refusals.clear()
    told = asked.copy()
    asked.clear()
    return [json.dumps(told).encode()]

def refusal(method, path):
    for one in refusals:
        if one["method"] == method and one["part"] in path and int(one["times"]):
            one["times"] = int(one["times"]) - 1
            return one

def app(environ, start_response):
    # S3 looks whether a file is there and puts it in one step; moto (5.2) does in two.
    with turn:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path.startswith("/_test/"):
            start_response("200 OK", [])
            return control(path, parse_qs(environ["QUERY_STRING"]))
        asked.append([method, path, environ["QUERY_STRING"], environ.get("HTTP_RANGE", "")])
        refused = refusal(method, path)
        if refused and refused["code"] != "cut":
            status = refused["status"]
            start_response(f"{status} Refused", [("Content-Type", "application/xml")])
            return [f"<Error><Code>{refused['code']}</Code></Error>".encode()]
        answer = b"".join(moto(environ, start_response))
        return [answer[: len(answer) // 2]] if refused else [answer]

server = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()  # until whoever started it ends
server.shutdown()
"""

PAGE = 100
"""Names that the server tells at once; S3 tells a thousand."""

KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "aws_region": "us-east-1"}


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    url: str

    @property
    def options(self) -> dict[str, str]:
        """A store's options for it, which are deltalake's as well."""
        return {**KEYS, "aws_endpoint": self.url, "aws_allow_http": "true"}

    def make_bucket(self, bucket: str) -> None:
        httpx.put(f"{self.url}/{bucket}", trust_env=False).raise_for_status()

    def refuse(
        self, method: str, part: str, code: str, *, status: int = 403, times: int = 10**9
    ) -> None:
        """Answer what is asked next with an error, or, by the code `cut`, with half of an answer.

        Args:
            method: of HTTP.
            part: of the address's path.
            code: S3's word for the error.
            status: HTTP's number for it.
            times: that it is refused.
        """
        told = {"method": method, "part": part, "code": code, "status": status, "times": times}
        self._control("refuse", told)

    def forgive(self) -> None:
        """Answer again."""
        self._control("forgive", {})

    def asked(self) -> list[tuple[str, str, str, str]]:
        """What was asked since this was asked last: method, path, query and range of each."""
        return [(one[0], one[1], one[2], one[3]) for one in self._control("asked", {})]

    def _control(self, what: str, told: Mapping[str, str | int]) -> list[list[str]]:
        answer = httpx.get(f"{self.url}/_test/{what}", params=told, trust_env=False)
        found: list[list[str]] = answer.raise_for_status().json()
        return found

    def keys(self, bucket: str) -> list[str]:
        """What the server calls the files of a bucket, up to a page."""
        answer = httpx.get(f"{self.url}/{bucket}?list-type=2", trust_env=False).raise_for_status()
        return [html.unescape(key) for key in re.findall("<Key>(.*?)</Key>", answer.text)]


@contextmanager
def run_s3(trusting: int | None = None) -> Iterator[S3Server]:
    """A server until the end of the block.

    Args:
        trusting: requests until it looks at credentials; by default it never does.
    """
    arguments = [str(PAGE), *([] if trusting is None else [str(trusting)])]
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield S3Server(f"http://127.0.0.1:{int(server.stdout.readline())}")
        finally:
            server.communicate(timeout=30)
