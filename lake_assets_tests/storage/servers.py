"""Servers that speak S3, as processes of their own on free ports: moto's, and S3Proxy.

Before each is a front that breaks things as a test asks it to (`front`).
"""

import html
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

import httpx
import pytest

from benchmarks.s3proxy import run_s3proxy
from lake_assets.settings.load import load_settings

Kind = Literal["moto", "s3proxy"]
Fault = Literal["pass", "torn", "lost", "stall", "lag", "blind", "unversioned", "racing"]

PAGE = 100
"""Names that a server tells at once; S3 tells a thousand."""

BOTH = [
    pytest.param("moto", marks=pytest.mark.long),
    pytest.param("s3proxy", marks=pytest.mark.java),
]
"""For tests that run on one as on the other: on the first at night."""

KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "aws_region": "us-east-1"}

ALWAYS = 10**9


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    url: str
    kind: Kind = "moto"

    @property
    def options(self) -> dict[str, str]:
        """A store's options for it, which are deltalake's as well."""
        return {**KEYS, "aws_endpoint": self.url, "aws_allow_http": "true"}

    def address(self, bucket: str) -> str:
        """Of a bucket, as settings have it."""
        return f"s3://{bucket}"

    def make_bucket(self, bucket: str) -> None:
        httpx.put(f"{self.url}/{bucket}", trust_env=False, timeout=60).raise_for_status()

    def refuse(
        self,
        method: str,
        part: str,
        code: str,
        *,
        status: int = 403,
        times: int = ALWAYS,
        token: str | None = None,
    ) -> None:
        """Answer what is asked next with an error, or, by the code `cut`, with half of an answer.

        Args:
            method: of HTTP, or `*`.
            part: of the address's path and query.
            code: S3's word for the error.
            status: HTTP's number for it.
            times: that it is refused.
            token: of a session, if only what is asked with it is refused.
        """
        does = "cut" if code == "cut" else "error"
        told = {"method": method, "part": part, "code": code}
        of: dict[str, str | float] = {"status": status, "times": times}
        of |= {} if token is None else {"token": token}
        self._control("refuse", {**of, **told, "does": does})

    def fail(
        self,
        method: str,
        part: str,
        does: Fault,
        *,
        times: int = ALWAYS,
        seconds: float = 0,
    ) -> None:
        """Have something go wrong with what is asked next.

        Args:
            method: of HTTP, or `*`.
            part: of the address's path and query.
            does: `pass`, nothing, so often that another fault waits for its turn; `torn`, the
                connection ends when half of a request is there, and nothing is done; `lost`, it is
                done, and not answered; `stall`, it is done and answered so many seconds later;
                `lag`, lists have no names that are younger than that; `blind`, puts happen where
                there is a file already; `unversioned`, in place of any version; `racing`, whether
                there is one is looked at a moment before.
            times: that it does.
            seconds: of a server that stalls or lags.
        """
        told = {"method": method, "part": part, "times": times, "seconds": seconds, "does": does}
        self._control("refuse", told)

    def forgive(self) -> None:
        """Answer again."""
        self._control("forgive", {})

    def asked(self) -> list[tuple[str, str, str, str]]:
        """What was asked since this was asked last: method, path, query and range of each."""
        return [(one[0], one[1], one[2], one[3]) for one in self._control("asked", {})]

    def _control(self, what: str, told: Mapping[str, str | float]) -> list[list[str]]:
        answer = httpx.get(f"{self.url}/_test/{what}", params=told, trust_env=False, timeout=60)
        found: list[list[str]] = answer.raise_for_status().json()
        return found

    def keys(self, bucket: str) -> list[str]:
        """What the server calls the files of a bucket, up to a page."""
        url = f"{self.url}/{bucket}?list-type=2"
        answer = httpx.get(url, trust_env=False, timeout=60).raise_for_status()
        return [html.unescape(key) for key in re.findall("<Key>(.*?)</Key>", answer.text)]


def _s3proxy() -> AbstractContextManager[str]:
    """It looks whether a file is there and puts it in two steps, so that of two who put one at once
    both may be told that they did: its front lets them in one by one."""
    return run_s3proxy(load_settings().runtime)


@contextmanager
def run_s3(kind: Kind = "moto", trusting: int | None = None) -> Iterator[S3Server]:
    """A server until the end of the block.

    Args:
        kind: which one.
        trusting: requests until moto looks at credentials; by default it never does.
    """
    with ExitStack() as running:
        behind = "moto" if kind == "moto" else running.enter_context(_s3proxy())
        variables = [f"MOTO_S3_DEFAULT_MAX_KEYS={PAGE}"]
        variables += [] if trusting is None else [f"INITIAL_NO_AUTH_ACTION_COUNT={trusting}"]
        program = [sys.executable, "-m", "lake_assets_tests.storage.front", behind]
        front = running.enter_context(
            subprocess.Popen(  # noqa: S603 - our own program
                ["/usr/bin/env", *variables, *program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        )
        assert front.stdout is not None
        try:
            yield S3Server(f"http://127.0.0.1:{int(front.stdout.readline())}", kind)
        finally:
            front.communicate(timeout=30)
