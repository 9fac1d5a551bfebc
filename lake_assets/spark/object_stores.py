"""How Spark finds and opens a lake's bucket: Hadoop's properties from a store's options. Pure.

The options are deltalake's and obstore's (`storage.open_bucket`), so that both halves of the lake
ask the same server in the same way. The jars that Hadoop needs are `runtime.jars`'.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from lake_assets.errors import SettingsError
from lake_assets.model.lake_uri import AZURE, GCS, LakeUri
from lake_assets.spark.azure_containers import azure_properties
from lake_assets.spark.client_options import CLIENT_OPTIONS
from lake_assets.spark.google_buckets import google_properties

_ACCESS_KEY = ("aws_access_key_id", "access_key_id")
_SECRET_KEY = ("aws_secret_access_key", "secret_access_key")
_TOKEN = ("aws_session_token", "aws_token", "session_token", "token")
_REGION = ("aws_region", "region", "aws_default_region", "default_region")
_ENDPOINT = (
    "aws_endpoint_url_s3",
    "aws_endpoint",
    "endpoint",
    "aws_endpoint_url",
    "endpoint_url",
)
_VIRTUAL_HOSTED = ("aws_virtual_hosted_style_request", "virtual_hosted_style_request")
_ANONYMOUS = ("aws_skip_signature", "skip_signature")
_PAYER = ("aws_request_payer", "request_payer")
_PROXY = ("proxy_url", "aws_proxy_url")

_OF_WRITERS = CLIENT_OPTIONS | {
    "checksum_algorithm",
    "conditional_put",
    "copy_if_not_exists",
    "disable_bulk_delete",
    "server_side_encryption",
    "sse_bucket_key_enabled",
    "sse_kms_key_id",
    "unsigned_payload",
}
"""Options that change nothing of what Spark reads: how files are written, and how patient the
other client is. Spark writes no file of a lake."""

_VARIABLES = {
    "container_authorization_token_file": "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "container_credentials_full_uri": "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "container_credentials_relative_uri": "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "endpoint_url_sts": "AWS_ENDPOINT_URL_STS",
    "metadata_endpoint": "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "role_arn": "AWS_ROLE_ARN",
    "role_session_name": "AWS_ROLE_SESSION_NAME",
    "web_identity_token_file": "AWS_WEB_IDENTITY_TOKEN_FILE",
}
"""What AWS' own library, which Hadoop uses, takes from the environment only."""

_PROVIDERS = (
    "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider,"
    "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider,"
    "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider"
)
"""Where obstore looks for a login, in its order: the environment, a token of Kubernetes, the
machine's own service."""

_GIVEN = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
_GIVEN_FOR_A_WHILE = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
_NONE = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"

_REGION_OF_OLD = "us-east-1"
"""Where a bucket is if nobody says: obstore's guess. Hadoop would ask Ohio, and be sent on."""

_EVERYWHERE = {
    # The usual stream and the audit need classes of a further jar. The one is for files read in
    # small pieces; the other adds a header for AWS' access logs.
    "fs.s3a.input.stream.type": "classic",
    "fs.s3a.audit.enabled": "false",
}
"""What spares jars. For all buckets: the audit is set up before a bucket's own are looked at."""

_TRUE = {"1", "true", "on", "yes", "y", "t"}


@dataclass(frozen=True, kw_only=True, slots=True)
class HadoopProperties:
    """Properties of Hadoop's file systems."""

    plain: Mapping[str, str]
    """For everyone to see."""

    secret: Mapping[str, str]
    """What is in no command line, as Spark's properties are."""


def hadoop_properties(
    root: LakeUri, options: Mapping[str, str], environment: Mapping[str, str]
) -> HadoopProperties:
    """What has Spark read a lake: nothing on a disk; properties of its store if it is in a bucket.

    Args:
        root: of the lake.
        options: of its store, as `storage.open_bucket.open_bucket` takes them.
        environment: `AWS_…`, `AZURE_…` and `GOOGLE_…` of it, which stand where an option is
            missing.

    Raises:
        SettingsError: Spark cannot read such a store, or cannot heed an option.
    """
    if root.is_local:
        return HadoopProperties(plain={}, secret={})
    given = {name.lower(): value for name, value in options.items()}
    around = {name.lower(): value for name, value in environment.items()}
    if root.scheme == AZURE:
        shown, hidden = azure_properties(root, given, around)
        return HadoopProperties(plain=shown, secret=hidden)
    if root.scheme == GCS:
        return HadoopProperties(plain=google_properties(root, given, around), secret={})
    _ensure_heeded(root, given)
    login, secret = _login(root, given, around)
    plain = {
        **_address(root, given, around),
        **login,
        **({"requester.pays.enabled": "true"} if _is_true(_PAYER, given, around) else {}),
    }
    proxy = _first(_PROXY, given)
    if proxy is not None:
        seen, hidden = _proxy(root, proxy)
        plain |= seen
        secret |= hidden
    own = f"fs.s3a.bucket.{root.bucket}."
    return HadoopProperties(
        plain=_EVERYWHERE | {own + name: value for name, value in plain.items()},
        secret={own + name: value for name, value in secret.items()},
    )


def _ensure_heeded(root: LakeUri, given: Mapping[str, str]) -> None:
    heeded = {
        *(*_ACCESS_KEY, *_SECRET_KEY, *_TOKEN, *_REGION, *_ENDPOINT, *_VIRTUAL_HOSTED),
        *(*_ANONYMOUS, *_PAYER, *_PROXY),
    }
    for name in given:
        bare = name.removeprefix("aws_")
        if name in heeded or bare in _OF_WRITERS:
            continue
        if bare == "imdsv1_fallback":  # AWS' library falls back by itself
            continue
        fact = f"{name} cannot be heeded by Spark, which reads the lake as well"
        variable = _VARIABLES.get(bare)
        step = "Do without it" if variable is None else f"Set {variable} in the environment instead"
        raise SettingsError(f"storage options of {root}", fact, step)


def _address(root: LakeUri, given: Mapping[str, str], around: Mapping[str, str]) -> dict[str, str]:
    is_virtual = _is_true(_VIRTUAL_HOSTED, given, around)
    found = {
        "endpoint.region": _first(_REGION, given, around) or _REGION_OF_OLD,
        "path.style.access": str(not is_virtual).lower(),
    }
    endpoint = _first(_ENDPOINT, given, around)
    if endpoint is None:
        return found
    scheme, _, rest = endpoint.partition("://")
    # obstore is told the bucket's own address then; Hadoop puts the bucket before the server's.
    if is_virtual:
        if not rest.startswith(f"{root.bucket}."):
            fact = f"the endpoint does not begin with the bucket, {root.bucket}"
            step = f"Write {scheme}://{root.bucket}.{rest}, or unset {_VIRTUAL_HOSTED[0]}"
            raise SettingsError(f"storage options of {root}", fact, step)
        rest = rest.removeprefix(f"{root.bucket}.")
    return found | {
        "endpoint": f"{scheme}://{rest}",
        "connection.ssl.enabled": str(scheme.lower() != "http").lower(),
    }


def _login(
    root: LakeUri, given: Mapping[str, str], around: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Who asks: properties to show and to hide."""
    name = "aws.credentials.provider"
    if _is_true(_ANONYMOUS, given, around):
        return {name: _NONE}, {}
    if _first((*_ACCESS_KEY, *_SECRET_KEY), given) is None:
        return {name: _PROVIDERS}, {}
    access, secret = (_first(names, given, around) for names in (_ACCESS_KEY, _SECRET_KEY))
    if access is None or secret is None:
        fact = f"{(_ACCESS_KEY if access is None else _SECRET_KEY)[0]} is missing beside the other"
        raise SettingsError(f"storage options of {root}", fact, "Give both keys, or neither")
    hidden = {"access.key": access, "secret.key": secret}
    token = _first(_TOKEN, given, around)
    if token is None:
        return {name: _GIVEN}, hidden
    return {name: _GIVEN_FOR_A_WHILE}, hidden | {"session.token": token}


def _proxy(root: LakeUri, address: str) -> tuple[dict[str, str], dict[str, str]]:
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        # The address may hold a password.
        fact = "proxy_url is no address of an HTTP proxy"
        raise SettingsError(f"storage options of {root}", fact, "Write http://host:port")
    shown = {
        "proxy.host": parts.hostname,
        "proxy.port": str(port),
        "proxy.ssl.enabled": str(parts.scheme == "https").lower(),
    }
    if parts.username is None:
        return shown, {}
    shown["proxy.username"] = unquote(parts.username)
    return shown, {"proxy.password": unquote(parts.password or "")}


def _first(names: tuple[str, ...], *places: Mapping[str, str]) -> str | None:
    found = (place[name] for place in places for name in names if place.get(name))
    return next(found, None)


def _is_true(names: tuple[str, ...], *places: Mapping[str, str]) -> bool:
    value = _first(names, *places)
    return value is not None and value.lower() in _TRUE
