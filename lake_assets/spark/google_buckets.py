"""How Spark finds and opens a lake's bucket of Google's: Hadoop's properties from options. Pure.

The options are deltalake's and obstore's (`storage.open_bucket`). Which store has which properties,
`spark.object_stores` says.
"""

from collections.abc import Mapping

from lake_assets.errors import SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.client_options import CLIENT_OPTIONS

_KEY_FILE = (
    "google_service_account",
    "service_account",
    "google_service_account_path",
    "service_account_path",
)

_STEPS = {
    "application_credentials": "Set GOOGLE_APPLICATION_CREDENTIALS in the environment instead",
    "base_url": "Do without it: Spark's connector asks Google's own address alone",
    "proxy_url": "Set HTTPS_PROXY, and https.proxyHost and https.proxyPort of Java, instead",
    "service_account_key": f"Write the key to a file, and give its path as {_KEY_FILE[0]}",
}
"""What to do without an option that Spark cannot heed, where that is more than to leave it out."""

_ELSEWHERE = ("base_url", "bearer_token", "proxy_url", "service_account_key", "skip_signature")
"""What has Rust ask another server, or as somebody else, also where only the environment says so;
Spark does not look there."""


def google_properties(
    root: LakeUri, given: Mapping[str, str], around: Mapping[str, str]
) -> dict[str, str]:
    """Properties of all of Google's buckets; none is secret, for a key is in a file.

    Args:
        root: of the lake.
        given: options of its store, by their names in small letters.
        around: `GOOGLE_…` of the environment, which stands where an option is missing, as well.

    Raises:
        SettingsError: Spark cannot heed an option.
    """
    _ensure_heeded(root, given, around)
    key_file = _first(_KEY_FILE, given, around)
    if key_file is None:
        return {"fs.gs.auth.type": "APPLICATION_DEFAULT"}
    return {
        "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        "fs.gs.auth.service.account.json.keyfile": key_file,
    }


def _ensure_heeded(root: LakeUri, given: Mapping[str, str], around: Mapping[str, str]) -> None:
    for name in given:
        bare = name.removeprefix("google_")
        if name not in _KEY_FILE and bare not in CLIENT_OPTIONS:
            raise _not_heeded(f"storage options of {root}", name, bare)
    for bare in _ELSEWHERE:
        if around.get(f"google_{bare}"):
            raise _not_heeded("environment", f"GOOGLE_{bare.upper()}", bare)


def _not_heeded(thing: str, name: str, bare: str) -> SettingsError:
    fact = f"{name} cannot be heeded by Spark, which reads the lake as well"
    return SettingsError(thing, fact, _STEPS.get(bare, "Do without it"))


def _first(names: tuple[str, ...], *places: Mapping[str, str]) -> str | None:
    found = (place[name] for place in places for name in names if place.get(name))
    return next(found, None)
