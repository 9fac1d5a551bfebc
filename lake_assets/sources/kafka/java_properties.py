"""librdkafka's client properties as the Java client's, which Spark uses: both say the same.

A user gives them once, as confluent-kafka knows them. Certificates and keys travel as text and not
as paths, so that Spark's executors need no such files.
"""

from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from lake_assets.errors import SettingsError

_SETTING = "LAKE_ASSETS_KAFKA_OPTIONS"

_LOGIN_MODULE = "org.apache.kafka.common.security."

_TRANSLATED = ("sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "https.")
"""Beginnings of the properties that say who we are and whom we trust. The two clients name them
alike only in part; those not handled below are librdkafka's alone and are left out."""

_ALIKE = {
    "ssl.keystore.location",
    "ssl.keystore.password",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.kerberos.service.name",
    "sasl.kerberos.kinit.cmd",
}
"""Properties of these kinds that both clients have under the same name."""


def java_properties(options: Mapping[str, str]) -> dict[str, str]:
    """The Java client's properties for librdkafka's.

    Raises:
        SettingsError: a certificate or a key cannot be read.
    """
    plain = {
        name: value
        for name, value in options.items()
        if name in _ALIKE or not name.startswith(_TRANSLATED)
    }
    return {**plain, **_trust(options), **_identity(options), **_login(options)}


def _trust(options: Mapping[str, str]) -> dict[str, str]:
    """Whom to trust: authorities as PEM, and whether the host's name counts."""
    properties = {}
    names = options.get("ssl.endpoint.identification.algorithm")
    if names is not None:
        properties["ssl.endpoint.identification.algorithm"] = "" if names == "none" else names
    place = options.get("ssl.ca.location")
    text = options.get("ssl.ca.pem")
    if text is None and place not in {None, "probe"}:
        text = _authorities("ssl.ca.location", Path(str(place)))
    if text is not None:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}
    return properties


def _identity(options: Mapping[str, str]) -> dict[str, str]:
    """Who we are by certificate: as PEM, or in a PKCS#12 file."""
    if "ssl.keystore.location" in options:
        return {"ssl.keystore.type": "PKCS12"}
    chain = _pem(options, "ssl.certificate")
    if chain is None:
        return {}
    key = _pem(options, "ssl.key") or chain
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": chain,
        "ssl.keystore.key": _decrypted(key, options.get("ssl.key.password")),
    }


def _login(options: Mapping[str, str]) -> dict[str, str]:
    """Who we are by name and password or by token."""
    mechanism = options.get("sasl.mechanism", options.get("sasl.mechanisms"))
    if mechanism is None:
        return {}
    properties = {"sasl.mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        module, words = "oauthbearer.OAuthBearer", _token_words(options)
        handler = f"{_LOGIN_MODULE}oauthbearer.OAuthBearerLoginCallbackHandler"
        properties["sasl.login.callback.handler.class"] = handler
    else:
        module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        words = {
            "username": options.get("sasl.username"),
            "password": options.get("sasl.password"),
        }
    given = "".join(f" {name}={_quoted(word)}" for name, word in words.items() if word is not None)
    if given:
        properties["sasl.jaas.config"] = f"{_LOGIN_MODULE}{module}LoginModule required{given};"
    return properties


def _token_words(options: Mapping[str, str]) -> dict[str, str | None]:
    """What a token is asked for with, and what goes to the broker beside it."""
    extensions = options.get("sasl.oauthbearer.extensions", "")
    pairs = [pair.strip().partition("=") for pair in extensions.split(",") if pair.strip()]
    return {
        "clientId": options.get("sasl.oauthbearer.client.id"),
        "clientSecret": options.get("sasl.oauthbearer.client.secret"),
        "scope": options.get("sasl.oauthbearer.scope"),
        **{f"extension_{name}": value for name, _, value in pairs},
    }


def _quoted(word: str) -> str:
    """A word of a JAAS line, which is read as Java reads a string."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
    return '"' + "".join(escapes.get(letter, letter) for letter in word) + '"'


def _pem(options: Mapping[str, str], name: str) -> str | None:
    """The text of `<name>.pem`, or of the file `<name>.location`."""
    if f"{name}.pem" in options:
        return options[f"{name}.pem"]
    place = options.get(f"{name}.location")
    return None if place is None else _read(f"{name}.location", Path(place))


def _authorities(name: str, place: Path) -> str:
    """The certificates of a file, or of all files of a folder."""
    if not place.is_dir():
        return _read(name, place)
    return "\n".join(_read(name, file) for file in sorted(place.iterdir()) if file.is_file())


def _read(name: str, file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, ValueError) as problem:
        fact = f"{name} names {file}, which cannot be read ({problem})"
        raise SettingsError(_SETTING, fact, "Name a PEM file that can be read") from problem


def _decrypted(text: str, password: str | None) -> str:
    """A key as the Java client reads it: PKCS#8, and in the clear, for it knows few ciphers."""
    try:
        key = load_pem_private_key(text.encode(), password.encode() if password else None)
    except (ValueError, TypeError) as problem:
        fact = f"ssl.key is no PEM key, or ssl.key.password does not open it ({problem})"
        raise SettingsError(_SETTING, fact, "Correct the two") from None
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
