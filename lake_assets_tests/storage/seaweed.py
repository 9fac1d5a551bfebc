"""SeaweedFS, the S3 of `docker/compose.yaml`, by that file's own command line and secrets.

Its one program is built from source, in minutes and with gigabytes of others', so tests run on it
only where `--weed` says where it is (`go build github.com/seaweedfs/seaweedfs/weed`).
"""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

from lake_assets.demo.dagster_dev import free_port

_DOCKER = Path(__file__).parents[2] / "docker"

BUCKET = "lake"
"""What compose.yaml makes, and all that its identity may use."""


@dataclass(frozen=True)
class Seaweed:
    """A running server."""

    options: dict[str, str]
    """A store's options for it, which are deltalake's as well."""

    def address(self, bucket: str) -> str:
        """Of a place for lakes, as settings have it: a folder in the one bucket."""
        return f"s3://{BUCKET}/{bucket}"

    def make_bucket(self, bucket: str) -> None:
        """There is one."""

    def forgive(self) -> None:
        """It breaks nothing."""


@contextmanager
def run_seaweed(program: Path, folder: Path) -> Iterator[Seaweed]:
    """A server until the end of the block.

    Args:
        program: `weed`.
        folder: for what it keeps, and for its secrets.
    """
    shutil.copy(_DOCKER / "make-secrets.sh", folder)
    subprocess.run(["/bin/sh", "make-secrets.sh"], cwd=folder, check=True)
    (folder / "data").mkdir()
    secrets = folder / "secrets"
    services = yaml.safe_load((_DOCKER / "compose.yaml").read_text())["services"]
    ports = {name: free_port(0) for name in ("s3", "master", "filer", "volume")}
    replaced = {
        "-dir": str(folder / "data"),
        "-ip": "127.0.0.1",
        "-ip.bind": "127.0.0.1",
        "-s3.config": str(secrets / "s3_identities.json"),
        "-s3.port": str(ports["s3"]),
    }
    own = [f"-{name}.port={port}" for name, port in ports.items() if name != "s3"]
    # What its parts say to each other has ports of its own, which are else 10,000 higher.
    inner = {name: free_port(0) for name in ports}
    own += [f"-{name}.port.grpc={port}" for name, port in inner.items()]
    # Nor are the doors that it opens beside S3 wanted.
    own += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
    given = [one.split("=")[0] for one in services["s3"]["command"]]
    assert set(replaced) <= set(given), "compose.yaml starts SeaweedFS in another way by now"
    command = [
        f"{name}={replaced[name]}" if name in replaced else one
        for name, one in zip(given, services["s3"]["command"], strict=True)
    ]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(  # noqa: S603 - as compose.yaml has it
            [program, *command, *own], stdout=log, stderr=log
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{ports['s3']}"
            _wait(f"{url}/healthz")
            made = services["bucket"]["command"][0].partition("|")[0]
            asked = subprocess.run(["/bin/sh", "-c", made], check=True, capture_output=True)  # noqa: S603
            parts = ("master", "filer")
            at = [f"-{name}=127.0.0.1:{ports[name]}.{inner[name]}" for name in parts]
            shell = [program, "shell", *at]
            subprocess.run(shell, input=asked.stdout, check=True, capture_output=True)  # noqa: S603
            options = json.loads((secrets / "storage_options.json").read_text())
            yield Seaweed({**options, "aws_endpoint_url": url})
        finally:
            process.kill()  # it takes half a minute to end


def _wait(url: str) -> None:
    for _ in range(300):
        try:
            if httpx.get(url, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"{url} does not answer")
