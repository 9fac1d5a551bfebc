"""A bucket on this machine, which is far away if that is asked for: S3Proxy behind `far_away`.

It keeps files in memory, and heeds conditional writes since they come to it one by one.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from benchmarks.beside import beside
from benchmarks.s3proxy import run_s3proxy
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import RuntimeSettings

LAKE = LakeUri.parse("s3://bench/lake")
"""Where a lake may be."""


@contextmanager
def run_bucket(
    runtime: RuntimeSettings, folder: Path, latency_s: float = 0.0
) -> Iterator[Mapping[str, str]]:
    """The options of its store, until the end of the block.

    Args:
        runtime: has Java and jars.
        folder: for what a process says.
        latency_s: that each call takes longer than the server needs.

    Raises:
        StreamError: the way to it cannot be made longer.
        RuntimeSetupError: the server cannot be had.
    """
    with (
        run_s3proxy(runtime) as url,
        beside("benchmarks.far_away", folder, urlsplit(url).port, latency_s) as port,
    ):
        httpx.put(f"{url}/{LAKE.bucket}", trust_env=False).raise_for_status()
        yield {
            "aws_endpoint_url": f"http://127.0.0.1:{port}",
            "aws_allow_http": "true",
            "aws_region": "us-east-1",
            "aws_access_key_id": "bench",
            "aws_secret_access_key": "bench",
        }
