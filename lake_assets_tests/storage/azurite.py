"""Azurite, Microsoft's own server that speaks as Azure's blob storage does, on a free port.

It comes from npm with 360 MB of others' code, so tests run on it only where `--azurite` says where
it is (docs/development.md).
"""

import base64
import hashlib
import hmac
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import httpx

from lake_assets.demo.dagster_dev import free_port

ACCOUNT = "devstoreaccount1"
KEY = base64.b64encode(b"a key of the tests, and of no other").decode()

_VERSION = "2021-08-06"


@dataclass(frozen=True)
class Azurite:
    """A running server."""

    url: str
    """With its account."""

    @property
    def options(self) -> dict[str, str]:
        """A store's options for it, which are deltalake's as well."""
        return {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_storage_endpoint": self.url,
            "azure_allow_http": "true",
        }

    def address(self, bucket: str) -> str:
        """Of a container, as settings have it."""
        return f"abfss://{bucket}@{ACCOUNT}.dfs.core.windows.net"

    def make_bucket(self, bucket: str) -> None:
        now = formatdate(usegmt=True)
        of = [f"x-ms-date:{now}", f"x-ms-version:{_VERSION}", f"/{ACCOUNT}/{ACCOUNT}/{bucket}"]
        told = "\n".join(["PUT", *[""] * 11, *of, "restype:container"])
        headers = {
            "x-ms-date": now,
            "x-ms-version": _VERSION,
            "Authorization": f"SharedKey {ACCOUNT}:{_signed(told)}",
        }
        url = f"{self.url}/{bucket}?restype=container"
        httpx.put(url, headers=headers, trust_env=False, timeout=60).raise_for_status()

    def wrong_login(self, folder: Path) -> dict[str, str]:  # noqa: ARG002 - as others have it
        """Options in place of its own with which it lets nobody in."""
        return {"azure_storage_account_key": "d3Jvbmc="}

    def forgive(self) -> None:
        """It breaks nothing."""


def _signed(text: str) -> str:
    return base64.b64encode(
        hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)
    ).decode()


@contextmanager
def run_azurite(program: Path, folder: Path) -> Iterator[Azurite]:
    """A server until the end of the block.

    Args:
        program: `azurite/dist/src/blob/main.js`.
        folder: for what it keeps.
    """
    port = free_port(0)
    command = ["node", str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    command += ["--location", str(folder), "--skipApiVersionCheck", "--silent"]
    command += ["--disableTelemetry"]
    account = f"AZURITE_ACCOUNTS={ACCOUNT}:{KEY}"
    with subprocess.Popen(["/usr/bin/env", account, *command]) as process:  # noqa: S603 - ours
        try:
            server = Azurite(f"http://127.0.0.1:{port}/{ACCOUNT}")
            for _ in range(300):
                try:
                    httpx.get(server.url, trust_env=False)
                except httpx.TransportError:
                    time.sleep(0.1)
                else:
                    break
            yield server
        finally:
            process.terminate()
