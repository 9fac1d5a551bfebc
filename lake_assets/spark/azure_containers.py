"""How Spark finds and opens a lake's container of Azure: Hadoop's properties from options. Pure.

The options are deltalake's and obstore's (`storage.open_bucket`). Which store has which properties,
`spark.object_stores` says.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from lake_assets.errors import SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.client_options import CLIENT_OPTIONS

_ACCOUNT = ("azure_storage_account_name", "account_name")
_KEY = (
    "azure_storage_account_key",
    "azure_storage_access_key",
    "azure_storage_master_key",
    "account_key",
    "access_key",
    "master_key",
)
_ENDPOINT = ("azure_storage_endpoint", "azure_endpoint", "endpoint")
_EMULATOR = ("azure_storage_use_emulator", "use_emulator")

_HEEDED = {*_ACCOUNT, *_KEY, *_ENDPOINT}

_USUAL_HOST = ".dfs.core.windows.net"

_ENDPOINT_OF_SERVER = re.compile(r"(https?)://([^:/@\[\]]+):(\d+)/([^/]+)/?")
"""Of a server that is not Microsoft's: its account is the first name of the path. Hadoop takes no
other form, no port that is left out, and no address of IPv6."""

_EVERYWHERE = {
    # Java's own, for the other one cannot do without TLS.
    "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
    # OpenSSL, which is tried before, needs a further jar.
    "fs.azure.ssl.channel.mode": "Default_JSSE",
}


def azure_properties(
    root: LakeUri, given: Mapping[str, str], around: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Properties to show and to hide of a container.

    Args:
        root: of the lake.
        given: options of its store, by their names in small letters.
        around: `AZURE_…` of the environment, which stands where an option is missing, as well.

    Raises:
        SettingsError: Spark cannot read such a container, or cannot heed an option.
    """
    container, _, host = root.bucket.partition("@")
    account = host.removesuffix(_USUAL_HOST)
    if not account or account == host or "." in account:
        fact = "is no address of a container as Spark and Delta's library both take it"
        step = f"Write {_abfss(container)}"
        raise SettingsError(str(root), fact, step)
    _ensure_heeded(root, given)
    plain, is_own = _address(root, account, given, around)
    key = _key(root, given, around)
    of_account = {"account.auth.type": "SharedKey"}
    if is_own:
        # A server that speaks as blob storage does, without Microsoft's file system on top.
        of_account |= {"fns.account.service.type": "BLOB", "account.hns.enabled": "false"}
    return {**_EVERYWHERE, **plain, **_of(host, of_account)}, _of(host, {"account.key": key})


def _abfss(container: str) -> str:
    return f"abfss://{container}@<account>{_USUAL_HOST}/path"


def _of(host: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {f"fs.azure.{name}.{host}": value for name, value in properties.items()}


def _ensure_heeded(root: LakeUri, given: Mapping[str, str]) -> None:
    for name in given:
        if name in _HEEDED or name.removeprefix("azure_") in CLIENT_OPTIONS:
            continue
        fact = f"{name} cannot be heeded by Spark, which reads the lake as well"
        step = (
            f"Give {_ENDPOINT[0]} (http://host:port/account), the account's key, and allow_http"
            if name in _EMULATOR
            else f"Do without it; to log in, give {_KEY[0]}"
        )
        raise SettingsError(f"storage options of {root}", fact, step)


def _address(
    root: LakeUri, account: str, given: Mapping[str, str], around: Mapping[str, str]
) -> tuple[dict[str, str], bool]:
    """Properties of where the container is, and whether that is a server of somebody's own."""
    always = "fs.azure.always.use.https"
    endpoint = _first(_ENDPOINT, given, around)
    if endpoint is None:
        return {always: "true"}, False
    parts = urlsplit(endpoint)
    usual = f"{account}{_USUAL_HOST.replace('dfs', 'blob')}"
    if parts.scheme == "https" and parts.netloc == usual and parts.path in {"", "/"}:
        return {always: "true"}, False
    found = _ENDPOINT_OF_SERVER.fullmatch(endpoint)
    if found is None or found[4] != account:
        fact = f"{_ENDPOINT[0]} is no address of account {account} that Spark takes"
        step = f"Write https://{usual}, or http://host:port/{account} of a server of your own"
        raise SettingsError(f"storage options of {root}", fact, step)
    is_secure = found[1] == "https"
    return {
        always: str(is_secure).lower(),
        "fs.azure.abfs.endpoint": f"{found[2]}:{found[3]}",
    }, True


def _key(root: LakeUri, given: Mapping[str, str], around: Mapping[str, str]) -> str:
    """What Spark logs in with: of all ways, the one that has been tried."""
    key = _first(_KEY, given, around)
    if key is None:
        fact = "have no login that Spark takes"
        step = f"Give {_KEY[0]}: signatures, tokens and identities have not been made to work"
        raise SettingsError(f"storage options of {root}", fact, step)
    return key


def _first(names: tuple[str, ...], *places: Mapping[str, str]) -> str | None:
    found = (place[name] for place in places for name in names if place.get(name))
    return next(found, None)
