"""A sink that is an HTTP API, as a feed declares it; calling it is `sinks.rest`'s."""

import re
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import Duration
from lake_assets.model.unique_names import one_of

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
"""What HTTP calls a token (RFC 9110, 5.6.2)."""

_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "connection", "transfer-encoding"}
    | {"idempotency-key", "authorization", "user-agent"}
)

_RATE = re.compile(r"(?P<calls>\d+(?:\.\d+)?)/(?P<unit>s|min|h)")

_UNITS = {"s": 1, "min": 60, "h": 3600}


class Body(StrEnum):
    """What a call's body is."""

    ROW = "row"  # a JSON object
    ARRAY = "array"  # a JSON array of objects
    NDJSON = "ndjson"  # an object a line


class Secret(Noun):
    """Where a secret is to be had; feeds are no place for one."""

    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """Environment variable that holds it, of the process that makes the calls; or `<env>_FILE` is
    set, and names a file with it, or `<env>_COMMAND`, a command that says it."""


class Basic(Noun):
    """User and password."""

    user: Annotated[str, Field(min_length=1, pattern=r"^[^:\x00-\x1f\x7f]+$")]
    """The name; without a colon, which ends it in HTTP."""

    password: Secret
    """The password."""


def _header(name: str) -> str:
    if _HEADER.fullmatch(name) is None or name.lower() in _OWN_HEADERS - {"authorization"}:
        message = f"{name!r} is no header that can be set"
        raise ValueError(message)
    return name


class Header(Noun):
    """A header that holds a secret."""

    name: Annotated[str, AfterValidator(_header)]
    """Such as `X-Api-Key`."""

    value: Secret
    """What it holds."""


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is none
    except ValueError as problem:
        message = f"is no address ({problem})"
        raise ValueError(message) from problem
    return parts


def _web_address(url: str) -> str:
    parts = _parts(url)
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        message = "is no address of the web\nwrite https://host/path"
    elif "@" in parts.netloc:
        message = "has an @ before its path\nmove secrets into `auth`"
    elif parts.fragment:
        message = "has a fragment (#), which no server gets"
    elif not url.isascii() or any(one.isspace() for one in url):
        message = "has a character that an address cannot have\nencode it"
    else:
        return url
    raise ValueError(message)


Url = Annotated[str, AfterValidator(_web_address)]


class OAuth(Noun):
    """Client credentials (RFC 6749, 4.4): a token that is asked for, and again when it ends."""

    token_url: Url
    """Where tokens are to be had."""

    client_id: Annotated[str, Field(min_length=1)]
    """Who asks."""

    client_secret: Secret
    """What proves it."""

    scope: str | None = None
    """What the token is to allow, in the words of who gives it."""


class Auth(Noun):
    """How a call says who makes it: one of four ways."""

    bearer: Secret | None = None
    """A token, as `Authorization: Bearer …`."""

    basic: Basic | None = None
    """User and password, as `Authorization: Basic …`."""

    header: Header | None = None
    """A header of the API's own."""

    oauth: OAuth | None = None
    """A token by client credentials; got anew when it ends or the API answers 401."""

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            message = f"auth has one of bearer, basic, header, oauth; {one_of(given)}"
            raise ValueError(message)
        return self


def _rate(value: object) -> float:
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match["calls"]) <= 0:
        message = f"{value!r} is no rate\nwrite calls in a time, as 1000/s, 90/min or 500/h"
        raise ValueError(message)
    return float(match["calls"]) / _UNITS[match["unit"]]


Rate = Annotated[float, BeforeValidator(_rate)]

_Timeout = Annotated[Duration, Field(le=timedelta(minutes=10))]


class Rest(Noun):
    """An HTTP API that rows are POSTed to as JSON."""

    url: Url
    """Where rows are POSTed to. Nothing that it redirects to is called."""

    rows_per_call: int = Field(default=1, ge=1, le=10_000)
    """Most rows of a call; fewer go along where no more have come. With `body: row` it is 1."""

    partitions: int = Field(default=1, ge=1, le=256)
    """How many workers make calls, each `calls_in_flight` at a time. The order in which rows
    arrive is told by nothing if there is more than one call at a time."""

    calls_in_flight: int = Field(default=1, ge=1, le=256)
    """Calls of a worker that wait for their answers at the same time. In all there are
    `partitions` times as many, 1024 at most."""

    rate: Rate | None = None
    """Most calls in a time, of all workers together, tries that failed included: `1000/s`."""

    timeout: _Timeout = timedelta(seconds=10)
    """How long one try of a call may take, from the connection to the end of the answer."""

    give_up_after: Duration = timedelta(hours=1)
    """How long a call is tried, from its first try, before its rows become dead letters. Time that
    the API asked to wait (`Retry-After`) does not count."""

    body: Body = Body.ARRAY
    """`row`: a JSON object, one row a call. `array`: a JSON array of them. `ndjson`: one a line."""

    headers: dict[Annotated[str, AfterValidator(_header)], str] = Field(default_factory=dict)
    """Further headers of each call, without secrets."""

    auth: Auth | None = None
    """How a call says who makes it."""

    ca: Path | None = None
    """PEM file of authorities that its certificate is checked by, in place of the usual ones."""

    allow_private: bool = False
    """Whether its host may have a private, loopback or link-local address: one inside your own
    network, where a wrong name could reach what nobody meant to offer."""

    @model_validator(mode="after")
    def _fields_go_together(self) -> Self:
        if self.body is Body.ROW and self.rows_per_call != 1:
            message = f"body: row has one row a call, and rows_per_call is {self.rows_per_call}"
            raise ValueError(message)
        if self.partitions * self.calls_in_flight > _MOST_IN_FLIGHT:
            message = f"partitions times calls_in_flight is more than {_MOST_IN_FLIGHT}"
            raise ValueError(message)
        for name, text in self.headers.items():
            if name.lower() == "authorization":
                message = "headers: Authorization is a secret\nuse `auth`"
                raise ValueError(message)
            if not text.isascii() or not text.isprintable():
                message = f"headers: {name} has a character that a header cannot have"
                raise ValueError(message)
        self._refuse_open_secrets()
        return self

    def _refuse_open_secrets(self) -> None:
        urls = [self.url] if self.auth else []
        urls += [self.auth.oauth.token_url] if self.auth and self.auth.oauth else []
        if not self.allow_private and any(urlsplit(url).scheme == "http" for url in urls):
            message = "auth goes over http, where anybody on the way can read it\nuse https"
            raise ValueError(message)

    @property
    def in_flight(self) -> int:
        """Calls at the same time, of all workers."""
        return self.partitions * self.calls_in_flight


_MOST_IN_FLIGHT = 1024
"""Each has a connection, and a process often has 1,024 files at most."""
