"""A server that speaks S3, as a process of its own: moto's, on a free port."""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

_PROGRAM = """
import os, sys, threading
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = sys.argv[1]
if len(sys.argv) > 2:
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = sys.argv[2]
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

moto, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()

def app(environ, start_response):
    # S3 looks whether a file is there and puts it in one step; moto (5.2) does in two.
    with turn:
        return list(moto(environ, start_response))

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
