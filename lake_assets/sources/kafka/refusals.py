"""Why a broker cannot be used, told apart: unreachable, login, certificate, right, property.

librdkafka says "cannot be reached" of them all, and why only to a callback. Asks nobody, but for
the one question to a server whose certificate is not accepted: OpenSSL tells what is wrong with it,
and librdkafka does not pass that on.
"""

import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaError

from lake_assets.errors import SourceError, SourceNotFoundError

# librdkafka's own error codes begin with an underscore; they are public all the same.
_LOGIN = KafkaError._AUTHENTICATION  # noqa: SLF001
_TLS = KafkaError._SSL  # noqa: SLF001
_BAD_PROPERTY = KafkaError._INVALID_ARG  # noqa: SLF001
MISSING = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}  # noqa: SLF001
_UNREACHABLE = {
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
}
FORBIDDEN = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}
UNSUPPORTED = {
    KafkaError._UNSUPPORTED_FEATURE,  # noqa: SLF001 - the client knows by the broker's versions
    KafkaError.UNSUPPORTED_VERSION,
}
"""A broker that is too old for a question, or no Kafka at all and speaks like one in part."""

_OPTIONS = "LAKE_ASSETS_KAFKA_OPTIONS"

_LOOK_S = 3.0
"""Seconds to ask a server for its certificate; it answered a moment ago."""

_PLACE = re.compile(r"://(?P<host>.+):(?P<port>\d+)/")

_NOISE = re.compile(r"^[a-z_]+://\S+: |error:[0-9A-F]+:SSL routines::| \(after \d+ms.*\)$")
"""What librdkafka puts around a reason: the address, OpenSSL's number, how long it took."""


@dataclass(slots=True)
class Refusals:
    """What a client was told while it tried to reach its brokers; give it as `error_cb`."""

    heard: list[KafkaError] = field(default_factory=list)

    def __call__(self, error: KafkaError) -> None:
        """Note an error; each is said again with each try, and kept once."""
        if _kind(error) not in map(_kind, self.heard):
            self.heard.append(error)

    def lasting(self) -> KafkaError | None:
        """The error that trying again does not heal, if there was one."""
        errors = (
            error for error in self.heard if error.code() in {_LOGIN, _TLS} or _is_alert(error)
        )
        return next(errors, None)

    def behind(self, error: KafkaError) -> KafkaError:
        """The refusal that made a broker unreachable; an error that says more than that itself."""
        return (self.lasting() or error) if error.code() in _UNREACHABLE else error


def _kind(error: KafkaError) -> tuple[int, bool]:
    return error.code(), _is_alert(error)


def _is_alert(error: KafkaError) -> bool:
    return error.code() in _UNREACHABLE and "alert" in error.str()


def is_about_question(error: KafkaError) -> bool:
    """Whether brokers let us in and refuse this question alone; others may be answered."""
    return error.code() not in {*_UNREACHABLE, _LOGIN, _TLS, _BAD_PROPERTY}


def explain(
    error: KafkaError, kafka: str, topic: str | None, options: Mapping[str, str], timeout_s: float
) -> SourceError:
    """An error as one of ours.

    Args:
        error: what the client raised, or what `Refusals.behind` found.
        kafka: the brokers' addresses.
        topic: what it was about; None if about the brokers.
        options: the client's properties.
        timeout_s: how long was waited.
    """
    code, broker = error.code(), f"Kafka at {kafka}"
    if code in MISSING and topic is not None:
        step = "Create it, or correct source.kafka.topic of the feed"
        return SourceNotFoundError(f"topic {topic!r}", f"does not exist at {kafka}", step)
    if code == _LOGIN:
        fact = f"refuses the login ({_words(error)})"
        return SourceError(broker, fact, f"Correct sasl.* in {_OPTIONS}")
    if code == _TLS:
        fact = f"its certificate is not accepted ({_certificate_fault(error, options)})"
        step = f"Have the broker's certificate renewed, or correct ssl.ca.location in {_OPTIONS}"
        return SourceError(broker, fact, step)
    if code in _UNREACHABLE:
        return SourceError(broker, *_unreachable(error, timeout_s))
    if code == _BAD_PROPERTY:
        step = f"Correct {_OPTIONS} or LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS"
        return SourceError(broker, f"a client property is wrong ({error.str()})", step)
    thing = broker if topic is None else f"topic {topic!r} at {kafka}"
    return SourceError(thing, f"is refused ({error.str()})", _after_refusal(code))


def _after_refusal(code: int) -> str:
    if code in FORBIDDEN:
        return "Grant the user Describe and Read on the topic; to produce, Write and Create, too"
    if code in UNSUPPORTED:
        return "Do it with the tools of the service that runs the brokers, or have newer ones"
    return "Look into the broker's log"


def _unreachable(error: KafkaError, timeout_s: float) -> tuple[str, str]:
    if _is_alert(error):
        step = f"Correct ssl.certificate.location and ssl.key.location in {_OPTIONS}"
        return f"does not accept our certificate, or wants one ({_words(error)})", step
    step = "Start it, or correct LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS or security.protocol in "
    return f"cannot be reached within {timeout_s:g} s", step + _OPTIONS


def _words(error: KafkaError) -> str:
    return _NOISE.sub("", error.str())


def _certificate_fault(error: KafkaError, options: Mapping[str, str]) -> str:
    """What OpenSSL holds against a server's certificate; librdkafka's own words if nothing."""
    place = _PLACE.search(error.str())
    if place is None:
        return _words(error)
    try:
        _shake_hands(place["host"].strip("[]"), int(place["port"]), options)
    except ssl.SSLCertVerificationError as problem:
        return problem.verify_message
    except (OSError, ValueError):
        pass  # not what was asked about
    return _words(error)


def _shake_hands(host: str, port: int, options: Mapping[str, str]) -> None:
    place = options.get("ssl.ca.location", "probe")
    trust = ssl.create_default_context(
        cafile=place if Path(place).is_file() else None,
        capath=place if Path(place).is_dir() else None,
        cadata=options.get("ssl.ca.pem"),
    )
    trust.check_hostname = options.get("ssl.endpoint.identification.algorithm") != "none"
    with (
        socket.create_connection((host, port), timeout=_LOOK_S) as plain,
        trust.wrap_socket(plain, server_hostname=host),
    ):
        pass
