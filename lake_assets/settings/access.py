"""Who we are to a broker and a registry: what is wrong with what was given of it. Pure.

Nothing that was given is repeated: it may be a secret in the wrong place.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from lake_assets.settings.checks import web_complaint

_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")


def without_login(given: Mapping[str, Any]) -> dict[str, Any]:
    """A registry's fields, with the login that stands in `url` moved to `user` and `password`.

    It stays where it is if there is another beside it; `access_complaint` refuses that.
    """
    url = given.get("url")
    if not isinstance(url, str) or any(given.get(field) for field in ("user", "password", "token")):
        return dict(given)
    clean, user, password = split_login(url)
    if user is None:
        return dict(given)
    return {**given, "url": clean, "user": user, "password": password}


def split_login(urls: str) -> tuple[str, str | None, str | None]:
    """Take a login out of an address, or out of several that are joined by commas.

    Returns:
        The addresses without it, user and password. Where no address has one, two have different
        ones or a text is no address, it comes back as it is, without user and password.
    """
    try:
        parts = [urlsplit(url.strip()) for url in urls.split(",")]
        logins = {(part.username, part.password) for part in parts if part.username is not None}
    except ValueError:
        return urls, None, None
    if len(logins) != 1:
        return urls, None, None
    clean = (part._replace(netloc=part.netloc.rpartition("@")[2]) for part in parts)
    user, password = (
        unquote(credential) if credential else credential for credential in logins.pop()
    )
    return ",".join(urlunsplit(part) for part in clean), user, password


def access_complaint(field: str, value: object, before: Mapping[str, Any]) -> str | None:
    """What is wrong with a field of the registry's settings, given those before it, or None."""
    is_set = value is not None
    if field == "url":
        return registry_complaint(value) if isinstance(value, str) else None
    if field == "user":
        return "has a colon in it, which ends a name in HTTP" if ":" in str(value) else None
    if field == "password" and "user" in before and is_set != (before["user"] is not None):
        return "and user go together\nset both or none"
    if field == "token" and is_set and before.get("user") is not None:
        return "stands beside user and password\nset one or the other"
    if field in {"key", "key_password"} and is_set and before.get("certificate") is None:
        return "is set and certificate is not\nset that too"
    return None


def registry_complaint(urls: str) -> str | None:
    """What is wrong with the address of a registry, or with several joined by commas, or None."""
    if "@" in urls:
        return (
            "has an @ in it\ngive user and password in LAKE_ASSETS_REGISTRY_USER and "
            "LAKE_ASSETS_REGISTRY_PASSWORD, and the address without them"
        )
    if "?" in urls or "#" in urls:
        return "has a query or a fragment: a registry's address ends with its path"
    complaints = (web_complaint(url.strip()) for url in urls.split(","))
    return next((complaint for complaint in complaints if complaint), None)


_BROKER = re.compile(
    r"(?:(?:PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL)://)?(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/,@\[\]]+):(\d{1,5})"
)


def brokers_complaint(servers: str) -> str | None:
    """What is wrong with the addresses of brokers, or None; both clients read those that fit."""
    if "@" in servers:
        return "has an @, and is shown\ngive a login in LAKE_ASSETS_KAFKA_OPTIONS"
    found = [_BROKER.fullmatch(one.strip()) for one in servers.split(",")]
    if all(one is not None and 0 < int(one[1]) <= _MOST_PORT for one in found):
        return None
    return "is no list of brokers\nwrite host:port, or host:port,host:port"


_MOST_PORT = 65_535


def kafka_complaint(options: Mapping[str, str]) -> str | None:
    """What is wrong with librdkafka's properties for a client that Spark's must equal, or None.

    A property that would make the two clients differ in whom they trust or who they are is refused.
    """
    mechanism = options.get("sasl.mechanism", options.get("sasl.mechanisms"))
    if mechanism is None and "sasl.username" in options:
        return "need sasl.mechanism beside sasl.username: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
    if mechanism is not None and mechanism not in _MECHANISMS:
        return (
            f"need one of {', '.join(_MECHANISMS)} as sasl.mechanism, which both clients have. "
            "AWS_MSK_IAM is Java's alone\nlet the cluster take SCRAM-SHA-512 or certificates, too"
        )
    if options.get("enable.ssl.certificate.verification", "true").lower() != "true":
        return (
            "switch enable.ssl.certificate.verification off, which Spark's client cannot\ntrust "
            "the broker's certificate with ssl.ca.location"
        )
    if mechanism == "OAUTHBEARER":
        return _token_complaint(options)
    return None


def _token_complaint(options: Mapping[str, str]) -> str | None:
    needed = ("client.id", "client.secret", "token.endpoint.url")
    missing = [name for name in needed if f"sasl.oauthbearer.{name}" not in options]
    if options.get("sasl.oauthbearer.method") != "oidc":
        missing.insert(0, "method: oidc")
    if options.get("sasl.oauthbearer.grant.type", "client_credentials") != "client_credentials":
        missing.insert(0, "grant.type: client_credentials")
    if any(name.startswith("https.ca.") for name in options):
        return "name authorities for the server of tokens (https.ca), and Spark's client has none"
    if not missing:
        return None
    return f"need sasl.oauthbearer.{missing[0]} for OAUTHBEARER; Spark's client has no other way"
