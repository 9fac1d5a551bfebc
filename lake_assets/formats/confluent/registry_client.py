"""A client of a Confluent-compatible registry: who we are to it, and what cannot be asked at all.

What is asked belongs to `confluent.registry` and the simulator; what the registry answers to that,
such as "no such subject", passes through as the client's own `SchemaRegistryError`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError
from pydantic import SecretStr

from lake_assets.errors import RegistryError
from lake_assets.formats.confluent.answer_size import bound_answers
from lake_assets.formats.confluent.answers import UnexpectedAnswerError, subjects_in
from lake_assets.model.endpoints import RegistryAccess

_TIMEOUT_S = 10.0
"""Seconds for one answer. A registry answers in milliseconds, its first start aside."""

_RETRIES = 1
"""Further tries a request; callers that can wait repeat the question themselves."""

CORRECT_URL = "Correct LAKE_ASSETS_REGISTRY_URL, or look into the registry's log"

_NO_AUTHORITIES = {"ssl.ca.location": False}
"""For an address without TLS: else each client reads all authorities that the machine trusts, 55 ms
of processor time for a question that takes 2."""

_UNTRUSTED = "certificate verify failed: "
"""What OpenSSL begins with; what is wrong with the certificate follows."""


@contextmanager
def registry_client(
    url: str, access: RegistryAccess, *, timeout_s: float = _TIMEOUT_S
) -> Iterator[SchemaRegistryClient]:
    """A client for as long as some questions take.

    Raises:
        RegistryError: the registry cannot be reached, is not trusted, refuses who we are, or is no
            schema registry.
        SchemaRegistryError: another answer that is no success.
    """
    thing = f"schema registry {url}"
    try:
        client = SchemaRegistryClient(
            {"url": url, "timeout": timeout_s, "max.retries": _RETRIES}
            | ({} if "https:" in url.lower() else _NO_AUTHORITIES)
            | _identity(access)
        )
    except (OSError, ValueError) as problem:
        raise _unusable(thing, access, problem) from problem
    try:
        with client:
            bound_answers(client._rest_client.session)  # noqa: SLF001 - nothing else leads there
            yield client
    except SchemaRegistryError as problem:
        if problem.http_status_code not in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            raise
        fact = f"refuses us ({problem.http_status_code})"
        step = "Correct LAKE_ASSETS_REGISTRY_USER and _PASSWORD, or _TOKEN, or grant it the right"
        raise RegistryError(thing, fact, step) from problem
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise _unreachable(thing, problem) from problem
    except (ValueError, AttributeError, TypeError, RecursionError) as problem:
        # The client trusts that an answer is JSON of the right shape.
        why = f" ({problem})" if isinstance(problem, UnexpectedAnswerError) else ""
        fact = f"does not answer like a schema registry{why}"
        raise RegistryError(thing, fact, CORRECT_URL) from problem


def check_registry(url: str, access: RegistryAccess, *, timeout_s: float = _TIMEOUT_S) -> None:
    """Make sure that a registry answers us.

    Raises:
        RegistryError: it does not.
    """
    subjects_at(url, access, timeout_s=timeout_s)


def subjects_at(
    url: str, access: RegistryAccess, *, timeout_s: float = _TIMEOUT_S
) -> tuple[str, ...]:
    """The names of all subjects of a registry that are not deleted.

    Raises:
        RegistryError: it does not answer us.
    """
    try:
        with registry_client(url, access, timeout_s=timeout_s) as client:
            return subjects_in(client.get_subjects())
    except SchemaRegistryError as problem:
        fact = answered(problem)
        raise RegistryError(f"schema registry {url}", fact, CORRECT_URL) from problem


_UNKNOWN = re.compile(r"Unknown Schema Registry Error: b(['\"])(?P<said>.*)\1", re.DOTALL)
"""How the client tells of an answer that is none of a registry's."""

_SHOWN = 100
"""Characters of it that an error shows."""


def answered(problem: SchemaRegistryError) -> str:
    """What a registry answered, in words."""
    said = str(problem.error_message or "")
    if (unknown := _UNKNOWN.fullmatch(said)) is not None:
        said = unknown["said"][:_SHOWN]
    return f"answered {problem.http_status_code}" + (f" ({said})" if said else "")


def _identity(access: RegistryAccess) -> dict[str, Any]:
    """The client's properties for who we are and whom we trust."""
    paths = {
        "ssl.ca.location": access.ca,
        "ssl.certificate.location": access.certificate,
        "ssl.key.location": access.key,
    }
    conf: dict[str, Any] = {name: str(path) for name, path in paths.items() if path is not None}
    if access.key_password is not None:
        conf["ssl.key.password"] = access.key_password.get_secret_value()
    if access.user is not None:
        conf["basic.auth.user.info"] = f"{access.user}:{_clear(access.password)}"
    if access.token is not None:
        conf["bearer.auth.credentials.source"] = "STATIC_TOKEN"
        conf["bearer.auth.token"] = _clear(access.token)
        conf["bearer.auth.logical.cluster"] = ""  # Confluent's own; others take no notice
    return conf


def _clear(secret: SecretStr | None) -> str:
    return "" if secret is None else secret.get_secret_value()


def _unusable(thing: str, access: RegistryAccess, problem: Exception) -> RegistryError:
    """The client could not be made: of its files, or of its address."""
    files = [str(path) for path in (access.ca, access.certificate, access.key) if path is not None]
    if not files:
        return RegistryError(thing, "its address is none", CORRECT_URL)
    fact = f"{', '.join(files)} cannot be used ({problem})"
    step = "Correct LAKE_ASSETS_REGISTRY_CA, _CERTIFICATE, _KEY and _KEY_PASSWORD"
    return RegistryError(thing, fact, step)


def _unreachable(thing: str, problem: Exception) -> RegistryError:
    message = str(problem) or type(problem).__name__
    if _UNTRUSTED in message:
        why = message.partition(_UNTRUSTED)[2].rpartition(" (")[0]
        step = "Have the registry's certificate renewed, or correct LAKE_ASSETS_REGISTRY_CA"
        return RegistryError(thing, f"its certificate is not accepted ({why})", step)
    return RegistryError(
        thing, f"cannot be reached ({message})", "Start it, or correct its address"
    )
