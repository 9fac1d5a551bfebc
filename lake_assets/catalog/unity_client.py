"""Asking a server of Unity Catalog: HTTP, pages of lists, and what its errors mean."""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx

from lake_assets.errors import CatalogError, first_line
from lake_assets.settings.catalog import CatalogSettings

_API = "/api/2.1/unity-catalog"

_TIMEOUT_S = 30.0
"""For each answer; a server that lists a page of tables needs under a second."""

_LONGEST_ANSWER = 64 * 1024 * 1024
"""Bytes: a page has 50 tables at most, and columns may be many."""

_LONGEST_WORDS = 1000
"""Characters that are shown of why a server refuses."""

_TRIES = 3
"""Of a question that changes nothing and fails on the way, or is told to come later."""

_NOT_FOUND = 404

_LATER = frozenset({429, 502, 503, 504})

_STEPS = {
    401: "Renew LAKE_ASSETS_CATALOG_TOKEN",
    403: "Grant the token's user what it lacks there: USE CATALOG, CREATE SCHEMA, USE SCHEMA, "
    "CREATE TABLE, and CREATE EXTERNAL TABLE on the lake's external location",
    409: "Run it again; somebody else changed the catalogue meanwhile",
    429: "Run it again later",
}


class UnityClient:
    """One server."""

    def __init__(self, settings: CatalogSettings) -> None:
        """Know where it is and who we are; nothing is asked yet."""
        self._url = str(settings.url).rstrip("/").removesuffix(_API)
        self._token = settings.token.get_secret_value() if settings.token else ""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        self._client = httpx.Client(
            base_url=self._url + _API, headers=headers, timeout=_TIMEOUT_S, verify=_trust()
        )

    @property
    def title(self) -> str:
        """Which server."""
        return self._url

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Tell of an answer that has other fields than those that the block reads.

        Raises:
            CatalogError: it has.
        """
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            fact = "answers with fields that are none of Unity Catalog's"
            raise CatalogError(self.title, fact, "Check LAKE_ASSETS_CATALOG_URL") from problem

    def close(self) -> None:
        """End its connections."""
        self._client.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """What is there; None if nothing is.

        Raises:
            CatalogError: as all of this.
        """
        return self._ask("GET", path, query=query)

    def pages(self, path: str, name: str, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The items of a list; none if what should have it is not there."""
        asked, seen = dict(query), set()
        while (page := self.get(path, asked)) is not None:
            yield from page.get(name) or ()
            token = page.get("next_page_token")
            if not token:
                return
            if token in seen:
                fact = f"tells the same page of {name} again"
                raise CatalogError(self.title, fact, "See to the server")
            seen.add(token)
            asked["page_token"] = token

    def post(self, path: str, told: Mapping[str, Any]) -> None:
        """Make something; what it should be in has to be there."""
        if self._ask("POST", path, told) is None:
            step = "Run it again; somebody else changed the catalogue meanwhile"
            raise CatalogError(self.title, f"does not know where {told['name']!r} goes", step)

    def patch(self, path: str, told: Mapping[str, Any]) -> dict[str, Any] | None:
        """Change something; None if it is not there."""
        return self._ask("PATCH", path, told)

    def delete(self, path: str) -> None:
        """Take something out, if it is there."""
        self._ask("DELETE", path)

    def _ask(
        self,
        method: str,
        path: str,
        told: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any] | None:
        tries = _TRIES if method == "GET" else 1
        for attempt in range(1, tries + 1):
            try:
                with self._client.stream(method, path, json=told, params=query) as answer:
                    content = self._content(answer)
            except httpx.HTTPError as problem:
                if attempt < tries:
                    continue
                fact = f"does not answer ({self._masked(first_line(problem)) or 'cut off'})"
                step = "Check LAKE_ASSETS_CATALOG_URL, and whether the server runs"
                raise CatalogError(self.title, fact, step) from problem
            if answer.status_code not in _LATER or attempt == tries:
                return self._judged(answer, content)
        return None

    def _content(self, answer: httpx.Response) -> bytes:
        content = bytearray()
        for part in answer.iter_bytes():
            content += part
            if len(content) > _LONGEST_ANSWER:
                fact = f"answers with more than {_LONGEST_ANSWER // 2**20} MB"
                raise CatalogError(self.title, fact, "Check LAKE_ASSETS_CATALOG_URL")
        return bytes(content)

    def _judged(self, answer: httpx.Response, content: bytes) -> dict[str, Any] | None:
        # The open server answers a deletion with words.
        is_done = answer.is_success and answer.request.method == "DELETE"
        told = {} if is_done else _object(content)
        if answer.is_success and told is not None:
            return told
        code = told.get("error_code") if told else None
        if code is None or told is None:
            fact = f"answers {answer.status_code} with what is none of Unity Catalog's answers"
            step = _STEPS.get(answer.status_code, "Check LAKE_ASSETS_CATALOG_URL")
            raise CatalogError(self.title, fact, step)
        if answer.status_code == _NOT_FOUND:
            return None
        words = _one_line(self._masked(str(told.get("message", ""))))
        fact = f"refuses ({answer.status_code} {code}: {words})"
        step = _STEPS.get(answer.status_code, "See to what the server says; nothing was lost")
        raise CatalogError(self.title, fact, step)

    def _masked(self, text: str) -> str:
        return text.replace(self._token, "***") if self._token else text


def _one_line(text: str) -> str:
    """A server's words as they go into a sentence."""
    line = " ".join(text[:_LONGEST_WORDS].split()).rstrip(".")
    return "".join(one if one.isprintable() else "?" for one in line)


@cache
def _trust() -> ssl.SSLContext:
    """The authorities that the machine trusts, or `SSL_CERT_FILE`; read once, in a tenth of a s."""
    return ssl.create_default_context()


def _object(content: bytes) -> dict[str, Any] | None:
    """What an answer says; nothing is an empty object, and None is what is no object."""
    try:
        told = json.loads(content) if content else {}
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None
