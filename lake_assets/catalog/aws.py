"""Asking AWS: boto3's clients by the catalogue's settings, and what AWS's errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lake_assets.errors import CatalogError, SettingsError, first_line
from lake_assets.settings.catalog import AWS_OPTIONS, CatalogSettings
from lake_assets.settings.load import store_environment

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
except ImportError as problem:
    raise SettingsError(
        "boto3",
        "is not installed, and LAKE_ASSETS_CATALOG_KIND is glue",
        "Install it: pip install 'lake-assets[glue]'",
    ) from problem

_TIMEOUT_S = 30
"""For connecting, and for each answer."""

_TRIES = 5
"""Of a question that is throttled or fails on the way, with growing pauses in between."""

_STEPS = {
    "AccessDeniedException": "Grant glue:GetDatabases, GetTables, GetTable, CreateDatabase, "
    "CreateTable, UpdateTable and DeleteTable, for `grants` lakeformation:ListPermissions, "
    "GrantPermissions and RevokePermissions, and what Lake Formation asks for",
    "ConcurrentModificationException": "Run it again; somebody else changed the entry meanwhile",
    "ExpiredTokenException": "Renew the session token, or use a role",
    "IncompleteSignatureException": "Correct the key",
    "InvalidClientTokenId": "Correct the key",
    "InvalidSignatureException": "Correct the key's secret, and this machine's clock",
    "MissingAuthenticationTokenException": "Give credentials",
    "ThrottlingException": "Run it again later",
    "UnrecognizedClientException": "Correct the key, and the region",
}


def client_of(service: str, settings: CatalogSettings) -> Any:  # noqa: ANN401 - boto3 has no types
    """A client of one of AWS's services.

    Raises:
        CatalogError: no region is told.
    """
    config = Config(
        connect_timeout=_TIMEOUT_S,
        read_timeout=_TIMEOUT_S,
        retries={"total_max_attempts": _TRIES, "mode": "standard"},
    )
    options = {AWS_OPTIONS[name]: value for name, value in settings.secrets.items()}
    # Of the two variables that other clients of AWS's read, boto3 reads AWS_DEFAULT_REGION alone.
    if region := store_environment().get("AWS_REGION"):
        options.setdefault("region_name", region)
    try:
        return boto3.client(service, endpoint_url=settings.url, config=config, **options)
    except NoRegionError as problem:
        step = "Give `aws_region` in LAKE_ASSETS_CATALOG_OPTIONS, or set AWS_REGION"
        raise CatalogError(f"AWS {service}", "has no region", step) from problem
    except BotoCoreError as problem:
        fact = f"cannot be asked ({first_line(problem)})"
        raise CatalogError(f"AWS {service}", fact, "Correct AWS's settings") from problem


@contextmanager
def calling(title: str, *, there: str = "") -> Iterator[None]:
    """Tell errors of what is called in the block in our words.

    Args:
        title: whom is asked.
        there: the error that says that nothing is left to do.

    Raises:
        CatalogError: it failed.
    """
    try:
        yield
    except NoCredentialsError as problem:
        step = "Give a key in LAKE_ASSETS_CATALOG_OPTIONS, or set AWS's variables"
        raise CatalogError(title, "has no credentials", step) from problem
    except ClientError as problem:
        error = problem.response.get("Error", {})
        code, words = str(error.get("Code", "")), str(error.get("Message", ""))
        if code == there:
            return
        step = _STEPS.get(code, "See to what AWS says; nothing was lost")
        fact = f"refuses ({code}: {first_line(ValueError(words))})"
        raise CatalogError(title, fact, step) from problem
    except BotoCoreError as problem:
        fact = f"does not answer ({first_line(problem)})"
        step = "Check the region and LAKE_ASSETS_CATALOG_URL, and the way there"
        raise CatalogError(title, fact, step) from problem
