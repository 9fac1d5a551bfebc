"""A server that takes OpenLineage's events, as a process of its own: up, down, slow or refusing."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder, port, status, wait_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(wait_s)
        if status < 300:
            with open(folder, "ab") as events:
                login = self.headers.get("Authorization", "")
                told = {"path": self.path, "login": login, "event": json.loads(body)}
                events.write(json.dumps(told).encode() + b"\\n")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Keeper:
    """Whoever keeps lineage."""

    url: str
    file: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def told(self) -> list[dict[str, Any]]:
        """What was told, oldest first."""
        text = self.file.read_text() if self.file.exists() else ""
        whole, _, _ = text.rpartition("\n")  # the last line may be on its way
        return [json.loads(line) for line in whole.splitlines()]

    def events(self, count: int = 0) -> list[dict[str, Any]]:
        """The events alone, once there are so many."""
        until = time.monotonic() + 30
        while len(found := self.told()) < count and time.monotonic() < until:
            time.sleep(0.02)
        return [one["event"] for one in found]


@contextmanager
def run_keeper(
    file: Path, *, port: int = 0, status: int = 201, wait_s: float = 0
) -> Iterator[Keeper]:
    """A server until the end of the block, which answers so, and after so many seconds."""
    arguments = [str(file), str(port), str(status), str(wait_s)]
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _PROGRAM, *arguments], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield Keeper(f"http://127.0.0.1:{int(server.stdout.readline())}", file)
        finally:
            server.kill()
