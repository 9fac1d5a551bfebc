"""Catalogues as processes of their own: Unity's contract, and moto's Glue."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

_PROGRAM = Path(__file__).with_name("unity_server.py")

_API = "/api/2.1/unity-catalog"

_CLIENT = httpx.Client(trust_env=False)
"""Each new one reads the machine's authorities, for a tenth of a second."""


@dataclass(frozen=True)
class Unity:
    """A running server."""

    url: str
    token: str

    def ask(self, method: str, path: str, told: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = _CLIENT.request(method, self.url + _API + path, json=told, headers=headers)
        return answer.raise_for_status().json() if method != "DELETE" else {}

    def refuse(self, method: str, part: str, status: int, code: str, times: int = 1000) -> None:
        """Answer what comes with an error."""
        told = {"method": method, "part": part, "status": status, "code": code, "times": times}
        self._control("refuse", told)

    def forgive(self) -> None:
        """Answer again."""
        self._control("forgive")

    def asked(self) -> list[list[str]]:
        """Method and path of what was asked since this was asked last."""
        found: list[list[str]] = self._control("asked")
        return found

    def _control(self, what: str, told: Any = None) -> Any:
        url = f"{self.url}/_test/{what}"
        return _CLIENT.post(url, json=told).raise_for_status().json()


@contextmanager
def run_unity(token: str = "") -> Iterator[Unity]:
    """A server until the end of the block; it wants the token, if there is one."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, str(_PROGRAM), *([token] if token else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield Unity(f"http://127.0.0.1:{int(server.stdout.readline())}", token)
        finally:
            server.communicate(timeout=30)
