"""Google's storage as tests have it: fake-gcs-server, behind a proxy that speaks in Google's name.

The server is built from a Go module, so tests run on it only where `--gcs` says where it is
(docs/decisions/0112-…). It knows the JSON API, which Spark's connector speaks; what Rust speaks is
translated (`gcs_xml`). Whoever is to be answered needs the proxy's address and its certificate, in
the environment: for Google's storage, neither Rust nor Spark is told of another server.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lake_assets.demo.dagster_dev import free_port
from lake_assets_tests.certificates import Authority
from lake_assets_tests.storage.gcs_front import HOSTS

ACCOUNT = "lake@tests.iam.gserviceaccount.com"

_TRUST = "changeit"


@dataclass(frozen=True)
class Gcs:
    """A running server."""

    url: str
    """Of fake-gcs-server itself, which lets everybody in."""
    key_file: Path
    """Of the one account that the proxy lets in."""
    environment: Mapping[str, str]
    """What has Rust and Java ask the proxy."""

    @property
    def options(self) -> dict[str, str]:
        """A store's options for it, which are deltalake's as well."""
        return {"google_service_account": str(self.key_file)}

    def address(self, bucket: str) -> str:
        """Of a bucket, as settings have it."""
        return f"gs://{bucket}"

    def make_bucket(self, bucket: str) -> None:
        url = f"{self.url}/storage/v1/b"
        answer = httpx.post(url, json={"name": bucket}, trust_env=False, timeout=60)
        answer.raise_for_status()

    def wrong_login(self, folder: Path) -> dict[str, str]:
        """Options in place of its own with which it lets nobody in."""
        return {"google_service_account": str(write_key(folder / "wrong.json"))}

    def forgive(self) -> None:
        """It breaks nothing."""


def write_key(file: Path) -> Path:
    """Make a service account's key, and write its file as Google would."""
    key = rsa.generate_private_key(65537, 2048)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    told = {
        "type": "service_account",
        "project_id": "tests",
        "private_key_id": "1",
        "private_key": text,
        "client_email": ACCOUNT,
        "client_id": "1",
        "token_uri": f"https://{HOSTS[1]}/token",
    }
    file.touch(mode=0o600)
    file.write_text(json.dumps(told))
    return file


def _environment(port: int, authority: Authority, java_home: Path) -> dict[str, str]:
    trusted = authority.file.with_name("trusted.p12")
    keytool = [str(java_home / "bin" / "keytool"), "-importcert", "-noprompt", "-alias", "tests"]
    keytool += ["-file", str(authority.file), "-keystore", str(trusted), "-storepass", _TRUST]
    subprocess.run(keytool, check=True, capture_output=True)  # noqa: S603 - Java's own
    java = [f"-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port}"]
    java += [f"-Djavax.net.ssl.trustStore={trusted} -Djavax.net.ssl.trustStorePassword={_TRUST}"]
    return {
        "HTTPS_PROXY": f"http://127.0.0.1:{port}",
        "NO_PROXY": "127.0.0.1,localhost",
        "SSL_CERT_FILE": str(authority.file),
        "JAVA_TOOL_OPTIONS": " ".join(java),
    }


@contextmanager
def run_gcs(program: Path, folder: Path, java_home: Path) -> Iterator[Gcs]:
    """A server until the end of the block.

    Args:
        program: fake-gcs-server.
        folder: for a key and certificates.
        java_home: of a Java that is to trust the proxy.
    """
    authority = Authority(folder / "authority")
    signed = authority.sign("google", HOSTS)
    key = write_key(folder / "key.json")
    port = free_port(0)
    behind = [str(program), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"]
    behind += ["-port", str(port), "-log-level", "error", "-data", str(folder / "nothing")]
    address = f"127.0.0.1:{port}"
    front = [sys.executable, "-m", "lake_assets_tests.storage.gcs_front", address]
    front += [str(signed.certificate), str(signed.key), str(key)]
    with ExitStack() as running:
        server = running.enter_context(subprocess.Popen(behind))  # noqa: S603 - as asked for
        running.callback(server.terminate)
        _wait_for(f"http://{address}/_internal/healthcheck")
        proxy = running.enter_context(
            subprocess.Popen(  # noqa: S603 - our own program
                front, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        running.callback(proxy.communicate, timeout=30)
        assert proxy.stdout is not None
        environment = _environment(int(proxy.stdout.readline()), authority, java_home)
        yield Gcs(f"http://{address}", key, environment)


def _wait_for(url: str) -> None:
    for _ in range(300):
        try:
            httpx.get(url, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
