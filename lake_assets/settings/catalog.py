"""Settings of the catalogue in which the lake's tables are registered."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, SecretStr

from lake_assets.settings.checks import web_complaint
from lake_assets.settings.group import Cron, RelatedGroup


class CatalogKind(StrEnum):
    """Which protocol it speaks."""

    UNITY = "unity"  # Unity Catalog's REST API
    GLUE = "glue"  # AWS Glue's Data Catalog
    HIVE = "hive"  # Hive's metastore, by Thrift


_DATABASES = re.compile(r"[a-z0-9_]*(\{layer\})?[a-z0-9_]*")

_METASTORE = re.compile(r"thrift://[A-Za-z0-9_.-]+(:[0-9]{1,5})?")

_NAME = re.compile(r"[A-Za-z0-9_-]+")


class CatalogSettings(RelatedGroup):
    """A catalogue of others in which the lake's tables are registered; by default none is."""

    kind: CatalogKind | None = None
    """`unity` (Unity Catalog, by its REST API), `glue` (AWS Glue's Data Catalog; `pip install
    'lake-assets[glue]'`) or `hive` (Hive's metastore, by Thrift; `lake-assets[hive]`); unset,
    nothing is registered anywhere."""

    url: str | None = None
    """Where it is. Unity's server: `http://localhost:8080`, `https://….cloud.databricks.com`;
    Hive's metastore: `thrift://metastore:9083`; of Glue another address than AWS's own."""

    token: SecretStr | None = None
    """Unity's bearer token, if the server asks for one."""

    name: str = "lake_assets"
    """Unity's catalog, which has the databases (there: schemas); it is made if it is not there."""

    databases: str = "lake_{layer}"
    """Where tables are registered; `{layer}` stands for `bronze`, `silver`, `gold`, `quarantine` or
    `log`. They are made if they are not there."""

    owner: str = Field(default="lake_assets", min_length=1, max_length=255)
    """Who owns the tables, as people look for them: a team, an address. It grants nothing."""

    options: dict[str, SecretStr] = Field(default_factory=dict)
    """For Glue, as JSON: `aws_region`, `aws_access_key_id`, `aws_secret_access_key`,
    `aws_session_token`; what is not there is looked for in AWS's usual variables and files. All
    are masked wherever settings are printed."""

    schedule: Cron = "*/15 * * * *"
    """When Dagster brings it up to date (cron, UTC)."""

    @staticmethod
    def complaint(field: str, value: Any, before: Mapping[str, Any]) -> str | None:  # noqa: ANN401
        """As the base has it."""
        judge = _COMPLAINTS.get(field)
        return judge(value, before.get("kind")) if judge else None

    @property
    def secrets(self) -> dict[str, str]:
        """The options as they are."""
        return {name: secret.get_secret_value() for name, secret in self.options.items()}


AWS_OPTIONS: Mapping[str, str] = {
    "aws_region": "region_name",
    "aws_access_key_id": "aws_access_key_id",
    "aws_secret_access_key": "aws_secret_access_key",
    "aws_session_token": "aws_session_token",
}
"""The options, as a bucket's are called, by what boto3 calls them."""


def _url_complaint(value: str | None, kind: CatalogKind | None) -> str | None:
    if value is None:
        needs = kind in {CatalogKind.UNITY, CatalogKind.HIVE}
        return "is not set, and a catalogue of this kind needs it" if needs else None
    if kind is CatalogKind.HIVE:
        return None if _METASTORE.fullmatch(value) else "is no thrift://host:port"
    if "@" in value:
        return "has an @ in it\ngive a login apart from the address, which is shown"
    return web_complaint(value)


def _token_complaint(value: SecretStr | None, kind: CatalogKind | None) -> str | None:
    if value is None:
        return None
    if kind is not CatalogKind.UNITY:
        return "is Unity's, and kind is not unity"
    token = value.get_secret_value()
    is_fine = token.isascii() and token.isprintable() and " " not in token
    return None if is_fine else "has a character that no token has, such as a line's end"


def _name_complaint(value: str, _: CatalogKind | None) -> str | None:
    return None if _NAME.fullmatch(value) else "takes letters, digits, _ and -"


def _databases_complaint(value: str, _: CatalogKind | None) -> str | None:
    fits = value and _DATABASES.fullmatch(value)
    return None if fits else "takes a-z, 0-9, _ and {layer} once"


def _options_complaint(value: Mapping[str, SecretStr], kind: CatalogKind | None) -> str | None:
    if value and kind is not CatalogKind.GLUE:
        return "are Glue's, and kind is not glue"
    return None if set(value) <= set(AWS_OPTIONS) else f"take {', '.join(AWS_OPTIONS)} alone"


_COMPLAINTS: Mapping[str, Callable[[Any, CatalogKind | None], str | None]] = {
    "url": _url_complaint,
    "token": _token_complaint,
    "name": _name_complaint,
    "databases": _databases_complaint,
    "options": _options_complaint,
}
