"""Opening a bucket of S3, Google's or Azure's by obstore, with options as deltalake takes them.

What is read and written there is `objects`' and `bucket_files`'.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from lake_assets.errors import SettingsError, first_line
from lake_assets.model.lake_uri import GCS, S3, LakeUri
from lake_assets.storage.object_errors import CREDENTIALS

Bucket: TypeAlias = S3Store | GCSStore | AzureStore

_RETRIES = 5
_RETRY_S = 60.0
"""Times that a request is tried again while the store does not answer, and seconds until it is
given up: an endpoint that restarts is outlived; of one that is not there is told in a minute."""

_RETRIES_OF = {GCS: 15}
"""Google takes one write of a name a second, and answers 429 to others; the first tries are a tenth
of a second apart, then a little more, so that 5 may all come within that second, and 15 do not."""

_CLIENT = {
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "default_content_type",
    "default_headers",
    "http1_only",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "randomize_addresses",
    "read_timeout",
    "root_certificate",
    "timeout",
    "user_agent",
}
"""Options of the HTTP client, which deltalake takes among the others and obstore does not."""

_PREFIXES = ("aws_", "google_", "azure_")

_ADDRESS = re.compile(r"https?://[^\s/]+\S*")


def _ensure_address(root: LakeUri, name: str, value: str) -> None:
    """Refuse an endpoint that is no address, at which obstore would panic when it is asked."""
    if name.endswith(("endpoint", "endpoint_url")) and not _ADDRESS.fullmatch(value):
        fact = f"{name} is no address"
        raise SettingsError(f"storage options of {root}", fact, "Write https://host:port")


_KEY_ID = ("aws_access_key_id", "access_key_id")
_KEY = ("aws_secret_access_key", "secret_access_key")
_TOKEN = ("aws_session_token", "aws_token", "session_token", "token")
_ACCOUNT = ("azure_storage_account_name", "account_name")


def _without_token(config: Mapping[str, str]) -> dict[str, Any]:
    """What has S3 asked with a declared key alone: obstore adds a token of the environment."""
    key_id, key, token = (
        next((config[name] for name in names if name in config), None)
        for names in (_KEY_ID, _KEY, _TOKEN)
    )
    if key_id is None or key is None or token is not None:
        return {}
    login = {"access_key_id": key_id, "secret_access_key": key, "token": None, "expires_at": None}
    return {"credential_provider": lambda: login}


def _name_account(root: LakeUri, config: dict[str, Any], account: str) -> None:
    """Have Azure asked of the account that an address names, and refuse options of another one."""
    given = next((config[name] for name in _ACCOUNT if name in config), None)
    if given is None:
        config["account_name"] = account
    elif given != account:
        fact = f"name another account than the address, {given!r}"
        raise SettingsError(f"storage options of {root}", fact, f"Do without {_ACCOUNT[0]}")


def for_deltalake(options: Mapping[str, str]) -> dict[str, str]:
    """Options as deltalake takes them, which reads no seconds without their unit."""
    return {
        name: f"{value}s" if name == "retry_timeout" and value.isdecimal() else value
        for name, value in options.items()
    }


def open_bucket(root: LakeUri, options: Mapping[str, str], *, is_foreign: bool = False) -> Bucket:
    """Obstore's bucket of a place; nothing is asked of it yet.

    Args:
        root: in the bucket.
        options: as deltalake takes them (`aws_access_key_id`, `aws_endpoint`, `aws_allow_http`,
            …), and `max_retries` and `retry_timeout` (`60` or `60s`). What is not there is looked
            for where obstore looks: in the environment, and in the service of the machine.
        is_foreign: whether it may belong to others than the environment's credentials do, so that
            a key and another one's token are never put together.

    Raises:
        SettingsError: an option is not known, or has a value that cannot be used.
    """
    config: dict[str, Any] = {}
    client: dict[str, Any] = {}
    given = {name.lower(): value for name, value in options.items()}
    usual = _RETRIES_OF.get(root.scheme, _RETRIES)
    retries, retry_s = given.pop("max_retries", usual), given.pop("retry_timeout", _RETRY_S)
    for name, value in given.items():
        _ensure_address(root, name, value)
        bare = next((name[len(p) :] for p in _PREFIXES if name.startswith(p)), name)
        (client if bare in _CLIENT else config)[bare if bare in _CLIENT else name] = value
    try:
        limit = timedelta(seconds=float(str(retry_s).removesuffix("s")))
        retry = {"max_retries": int(retries), "retry_timeout": limit}
        more: dict[str, Any] = {"client_options": client, "retry_config": retry, "config": config}
        if root.scheme == S3:
            return S3Store(root.bucket, **more, **(_without_token(config) if is_foreign else {}))
        if root.scheme == GCS:
            return GCSStore(root.bucket, **more)
        container, _, host = root.bucket.partition("@")
        if host:
            _name_account(root, config, host.partition(".")[0])
        return AzureStore(container, **more)
    except (BaseError, ValueError, TypeError) as problem:
        # The cause may quote a value, and that may be a secret.
        fact = f"cannot be used ({first_line(problem)})"
        step = f"Correct them; to log in it takes {CREDENTIALS[root.scheme]}"
        raise SettingsError(f"storage options of {root}", fact, step) from None
