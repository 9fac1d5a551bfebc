"""What is wrong with a value, in words that do not repeat it: it may be a secret. Pure."""

from email.utils import getaddresses
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
