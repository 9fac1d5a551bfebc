"""What is wrong with a value, in words that do not repeat it: it may be a secret. Pure."""

import re
from collections.abc import Mapping, Sequence
from email.utils import getaddresses
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def web_complaint(url: str) -> str | None:
    """What is wrong with the address of a web service, or None."""
    complaint = "is no web address\nuse http:// or https:// and a host"
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return complaint
    return None if is_fine and url.isascii() and url.isprintable() else complaint


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?:/|$)")  # a `Path` loses slashes at the end

_LOGIN = re.compile(r"(?:s3|gs):/+[^/]*@")
"""Of `abfss://` and `az://` an @ stands between the container and the account."""

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\[\]^|\\?#]|%[0-9A-Fa-f]{2}")
"""What deltalake's paths cannot have: it stops, or looks for files elsewhere than it wrote them, or
finds no history."""


def address_complaint(path: Path, *, takes_buckets: bool = False) -> str | None:
    """What is wrong with a path that may be an address, or None.

    Args:
        path: as it was given.
        takes_buckets: whether addresses of some stores are taken.
    """
    scheme = _ADDRESS.match(str(path))
    if scheme is None:
        return None
    if scheme[1].lower() == "file":
        return "is an address\nwrite the folder's path alone, without file://"
    if scheme[0].endswith(":"):
        return f"is {scheme[1]}:// alone\nwrite what comes behind it, as {scheme[1]}://bucket/path"
    if takes_buckets and _LOGIN.match(str(path)):
        return "has an @ before its path\ngive a login in LAKE_ASSETS_STORAGE_OPTIONS"
    buckets = ", s3://, gs:// and abfss:// are"
    kinds = f"folders of this machine{buckets if takes_buckets else ' are'}"
    return f"is an address ({scheme[1]}://…), and only {kinds} supported yet"


def target_complaint(target: str) -> str | None:
    """What is wrong with where backups go, or None; of an address only whether it may be one."""
    if _LOGIN.match(target):
        return "has an @ before its path\ngive a login apart from the address, which is shown"
    if _ADDRESS.match(target) or Path(target).is_absolute():
        return None
    return "is neither the whole path of a folder nor s3://, gs:// or az://"


def folder_complaint(path: Path) -> str | None:
    """What is wrong with the whole path of a folder that is to have tables, or None."""
    match = _UNUSABLE.search(str(path))
    if match is None:
        return None
    return f"is {str(path)!r}, and Delta's library or Spark cannot use a path with {match[0]!r}"


def words_in(text: str) -> list[str]:
    """Words between commas, as variables of the environment have them."""
    return [word for part in text.split(",") if (word := part.strip())]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def prefix_complaint(parts: Sequence[str]) -> str | None:
    """What is wrong with the parts of a prefix of Dagster's keys and names, or None."""
    odd = next((part for part in parts if not _NAME.fullmatch(part)), None)
    return None if odd is None else f"has {odd!r}, and takes letters, digits and _ alone"


_OWNER = re.compile(r"team:\S+|[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}")
"""What Dagster takes; and no white space in a team, which pages could not show."""


def owners_complaint(owners: Sequence[str]) -> str | None:
    """What is wrong with the owners of assets, or None."""
    odd = next((owner for owner in owners if not _OWNER.fullmatch(owner)), None)
    if odd is None:
        return None
    return (
        f"has {odd!r}, which is neither team:name nor an e-mail address (several have commas "
        "between them: team:data,ann@example.com)"
    )


def mail_complaint(addresses: str) -> str | None:
    """What is wrong with a list of e-mail addresses, or None."""
    parsed = [address for _, address in getaddresses([addresses])]
    is_fine = bool(parsed) and all(_is_address(address) for address in parsed)
    complaint = "is no list of e-mail addresses\nuse a@example.com, b@example.com"
    return None if is_fine and addresses.isprintable() else complaint


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
        return f"and {partner[field]} go together\nset both or none"
    return mail_complaint(value) if value and field != "smtp_password" else None


_MEMORY = re.compile(r"([0-9]{1,12})([kmgt])b?", re.IGNORECASE)

_LEAST_MEMORY = 450 * 1024 * 1024
"""Bytes of heap below which Spark refuses to start."""


def memory_complaint(text: str) -> str | None:
    """What is wrong with the heap of a Java, as Spark takes it, or None."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        return "is no size\nwrite 512m or 2g"
    size = int(match[1]) * 1024 ** ("kmgt".index(match[2].lower()) + 1)
    return None if size >= _LEAST_MEMORY else "is too little: Spark starts with 450m or more"
