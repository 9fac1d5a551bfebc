"""The API of `api_server`, as tests have it: its process, and what it is asked."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from lake_assets_tests.certificates import Signed

_SERVER = Path(__file__).parent / "api_server.py"


@dataclass(frozen=True, slots=True)
class Api:
    url: str

    def script(self, *faults, always=None):
        told = {"next": list(faults), "always": [always] if always else []}
        httpx.post(f"{self.url}/script", json=told, timeout=30).raise_for_status()

    def told(self):
        return httpx.get(f"{self.url}/calls", timeout=30).raise_for_status().json()

    def calls(self, path="/sessions"):
        return [call for call in self.told()["calls"] if call["path"] == path]


@contextmanager
def running_api(
    folder: Path, latency_s: float = 0.0, signed: Signed | None = None
) -> Iterator[Api]:
    """The API, in a process that ends with the block; over TLS if it has a certificate."""
    port = folder / "api-port"
    command = [sys.executable, str(_SERVER), str(port), str(latency_s)]
    command += [str(signed.certificate), str(signed.key)] if signed else []
    process = subprocess.Popen(command)  # noqa: S603 - our own
    try:
        while not port.exists():
            assert process.poll() is None
            time.sleep(0.01)
        scheme = "https" if signed else "http"
        yield Api(f"{scheme}://127.0.0.1:{port.read_text()}")
    finally:
        process.kill()
        process.wait()
        port.unlink(missing_ok=True)
