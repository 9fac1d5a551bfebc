"""Secrets that feeds name, and texts from which they are taken out before anybody reads them."""

import json
from collections.abc import Callable, Iterable
from html import escape
from urllib.parse import quote, quote_plus

from pydantic import SecretStr

from lake_assets.model.rest import Secret
from lake_assets.settings.load import secret_of

_MASK = "***"

_SHORTEST = 4
"""Characters of what is looked for in answers: a shorter one would be found in any word."""


class Secrets:
    """Secrets that were looked up."""

    def __init__(self, look_up: Callable[[str], SecretStr]) -> None:
        """None was looked up yet; `look_up` knows them by the names of environment variables."""
        self._look_up = look_up
        self._values: set[str] = set()

    def value(self, secret: Secret) -> str:
        """A secret.

        Raises:
            SettingsError: its variable is not set.
        """
        value = self._look_up(secret.env).get_secret_value()
        return self.keep(value)

    def keep(self, value: str) -> str:
        """Know a secret that came another way, such as a token."""
        self._values.add(value)
        return value

    def masked(self, text: str) -> str:
        """A text without any of them."""
        spelled = {how for value in self._values if len(value) >= _SHORTEST for how in _ways(value)}
        for value in sorted(spelled, key=len, reverse=True):
            text = text.replace(value, _MASK)
        return text


def _ways(value: str) -> tuple[str, ...]:
    """How an answer may write it: as it is, in JSON, in an address or a form, in HTML."""
    return value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value), escape(value)


def secrets_of(named: Iterable[object]) -> dict[str, SecretStr]:
    """By variable the secrets among what a feed gives, for a process that has not the variables.

    Raises:
        SettingsError: as `secret_of`.
    """
    return {one.env: secret_of(one.env) for one in named if isinstance(one, Secret)}
