"""How calls say who makes them: headers that stand, or a token that is got anew when it ends."""

import asyncio
import json
from base64 import b64encode
from typing import Protocol
from urllib.parse import quote, urlencode

from lake_assets.errors import SettingsError, SinkError
from lake_assets.model.rest import Auth, OAuth, Secret
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.rest.answers import Verdict, verdict_of
from lake_assets.sinks.rest.connection import Answer, Connection

_EARLY_S = 30.0
"""Seconds before a token's end at which another is asked for: a call that goes out may take as
long to arrive."""

_LEAST_S = 1.0
"""Of a token's life, in which no other is asked for: some say that theirs ends at once."""


class TokenUnavailableError(Exception):
    """The server of tokens has none now; a call may be tried later."""


class Authorization(Protocol):
    """Gives each try of a call its headers."""

    async def headers(self) -> dict[str, str]:
        """The headers.

        Raises:
            SinkError: who we say we are is refused.
            TokenUnavailableError: there are none now.
        """
        ...

    def refused(self, headers: dict[str, str]) -> bool:
        """Take in that these were answered by 401; whether others may do better."""
        ...


class Standing:
    """Headers that stay what they are."""

    def __init__(self, auth: Auth | None, secrets: Secrets) -> None:
        """Look the secrets up.

        Raises:
            SettingsError: one is not there, or fits no header.
        """
        self._headers: dict[str, str] = {}
        if auth is None:
            return
        if auth.bearer:
            self._headers["Authorization"] = f"Bearer {_in_header(secrets, auth.bearer)}"
        elif auth.basic:
            given = _basic(auth.basic.user, secrets.value(auth.basic.password))
            self._headers["Authorization"] = f"Basic {secrets.keep(given)}"
        elif auth.header:
            self._headers[auth.header.name] = _in_header(secrets, auth.header.value)

    async def headers(self) -> dict[str, str]:
        """They."""
        return self._headers

    def refused(self, headers: dict[str, str]) -> bool:
        """No others do better."""
        del headers
        return False


class ClientCredentials:
    """A token by client credentials, one for all calls."""

    def __init__(
        self, oauth: OAuth, secrets: Secrets, connection: Connection, *, within_s: float
    ) -> None:
        """No token was asked for yet; raises as `Standing`."""
        self._oauth, self._secrets, self._connection = oauth, secrets, connection
        self._within_s = within_s
        secret = secrets.value(oauth.client_secret)
        # RFC 6749, 2.3.1: both are encoded as in a form first.
        login = _basic(quote(oauth.client_id, safe=""), quote(secret, safe=""))
        self._login = f"Basic {secrets.keep(login)}"
        self._token: str | None = None
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """The token's; asks for another if it ends soon."""
        async with self._lock:
            if self._token is None or asyncio.get_running_loop().time() > self._until:
                await self._ask()
            return {"Authorization": f"Bearer {self._token}"}

    def refused(self, headers: dict[str, str]) -> bool:
        """Ask for another next time, unless one has come since."""
        if headers.get("Authorization") == f"Bearer {self._token}":
            self._token = None
        return True

    async def _ask(self) -> None:
        form = {"grant_type": "client_credentials"}
        if self._oauth.scope:
            form["scope"] = self._oauth.scope
        headers = {
            "Authorization": self._login,
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        answer = await self._connection.post(
            self._oauth.token_url, headers, urlencode(form).encode(), within_s=self._within_s
        )
        if answer.status is None or verdict_of(answer.status) is Verdict.AGAIN:
            raise TokenUnavailableError(answer.problem or f"answers {answer.status}")
        token, lasts_s = self._read(answer)
        # A header is one line: what has others in it would end the call's own.
        self._token = self._secrets.keep(token)
        lasts_s = max(_LEAST_S, lasts_s - min(_EARLY_S, lasts_s / 2))
        self._until = asyncio.get_running_loop().time() + lasts_s

    def _read(self, answer: Answer) -> tuple[str, float]:
        thing, step = f"token_url {self._oauth.token_url}", "Correct `auth.oauth`, or its secret"
        if answer.status is None or verdict_of(answer.status) is not Verdict.DELIVERED:
            text = answer.content[:200].decode(errors="replace")
            fact = self._secrets.masked(f"answers {answer.status}: {text}".strip())
            raise SinkError(thing, fact, step)
        try:
            said = json.loads(answer.content)
            token, lasts_s = str(said["access_token"]), float(said.get("expires_in") or 3600)
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise SinkError(thing, "answers without an access_token", step) from problem
        if not _fits_header(token):
            raise SinkError(thing, "gives a token that fits no header", step)
        return token, lasts_s


def _in_header(secrets: Secrets, secret: Secret) -> str:
    value = secrets.value(secret)
    if not _fits_header(value):
        fact = "has a character that no header can have, such as a line break at its end, or none"
        raise SettingsError(secret.env, fact, "Correct the secret")
    return value


def _fits_header(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable()


def _basic(user: str, password: str) -> str:
    return b64encode(f"{user}:{password}".encode()).decode()
