"""What is wrong with a value, in words that do not repeat it: it may be a secret. Pure."""

from collections.abc import Mapping
from email.utils import getaddresses
from typing import Any
from urllib.parse import urlsplit


def web_complaint(url: str) -> str | None:
    """What is wrong with the address of a web service, or None."""
    wanted = "is no web address: use http:// or https:// and a host"
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return wanted
    return None if is_fine and url.isascii() and url.isprintable() else wanted


def mail_complaint(addresses: str) -> str | None:
    """What is wrong with a list of e-mail addresses, or None."""
    found = [address for _, address in getaddresses([addresses])]
    is_fine = bool(found) and all(_is_address(address) for address in found)
    wanted = "is no list of e-mail addresses: use a@example.com, b@example.com"
    return None if is_fine and addresses.isprintable() else wanted


def _is_address(text: str) -> bool:
    local, at, host = text.rpartition("@")
    return bool(local and at and host) and not any(c.isspace() for c in text)


def alert_complaint(field: str, value: Any, before: Mapping[str, Any]) -> str | None:  # noqa: ANN401 - of any field
    """What is wrong with a field of the settings of alerts, given those before it, or None."""
    if field == "webhook_url":
        return web_complaint(value.get_secret_value()) if value else None
    partner = {"smtp_password": "smtp_user", "smtp_from": "smtp_host", "smtp_to": "smtp_host"}
    if field not in partner:
        return None
    if bool(value) != bool(before.get(partner[field])):
        return f"and {partner[field]} go together: set both or none"
    return mail_complaint(value) if value and field != "smtp_password" else None
