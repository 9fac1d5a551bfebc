"""The option sets of `docs/hosted-kafka.md`, with our own broker's logins in place of theirs."""

import json
import re
from pathlib import Path

from lake_assets_tests.services.secured import (
    CONNECTION_STRING,
    EVENT_HUBS_USER,
    PASSWORD,
    USER,
    Listener,
    Secured,
)

_PAGE = Path(__file__).parents[2] / "docs" / "hosted-kafka.md"

_US = {"user": USER, "password": PASSWORD}

SETS = {
    "event hubs": (Listener.PASSWORD, {"user": EVENT_HUBS_USER, "password": CONNECTION_STRING}),
    "event hubs by entra": (Listener.TOKEN, _US),
    "msk": (Listener.SCRAM, _US),
    "msk by certificate": (Listener.MUTUAL, _US),
    "confluent cloud": (Listener.PASSWORD, _US),
    "confluent cloud by token": (Listener.TOKEN, _US),
}
"""In the order of the page, the way in of our broker that asks for the same."""


def documented() -> dict[str, dict[str, str]]:
    """The sets as they stand on the page."""
    found = re.findall(r'\{"security\.protocol": .*?\}', _PAGE.read_text())
    return dict(zip(SETS, map(json.loads, found), strict=True))


def as_documented(secured: Secured, name: str) -> tuple[Listener, dict[str, str]]:
    """A way in, and the options of the page with what our broker asks for in it."""
    listener, login = SETS[name]
    options, ours = documented()[name], secured.options(listener, **login)
    assert options["security.protocol"] == ours["security.protocol"]
    assert options.get("sasl.mechanism") == ours.get("sasl.mechanism")
    if name == "event hubs":
        assert options["sasl.username"] == EVENT_HUBS_USER
    added = {"ssl.ca.location"}  # the services' certificates are of public authorities
    assert ours.keys() - added <= options.keys()
    return listener, options | ours
