from collections.abc import Iterator
from uuid import uuid4

import pytest
from pydantic import SecretStr

from lake_assets.settings.catalog import CatalogKind, CatalogSettings
from lake_assets.settings.schema import Settings
from lake_assets_tests.catalog.servers import Unity, run_unity
from lake_assets_tests.storage.servers import KEYS, S3Server

TOKEN = "sesame-open-wide"  # noqa: S105 - of a server of the test


@pytest.fixture(scope="session")
def unity_server() -> Iterator[Unity]:
    """A server for the whole run; use a catalog of your own."""
    with run_unity(TOKEN) as server:
        yield server


@pytest.fixture
def unity(unity_server: Unity) -> Iterator[Unity]:
    """The server, which refuses nothing any more once the test is over."""
    unity_server.asked()
    yield unity_server
    unity_server.forgive()


def with_catalog(settings: Settings, **told: object) -> Settings:
    return settings.model_copy(update={"catalog": CatalogSettings(**told)})


@pytest.fixture
def of_unity(settings: Settings, unity: Unity) -> Settings:
    """Settings that name a catalog of the test's own."""
    name = f"catalog_{uuid4().hex}"
    token = SecretStr(TOKEN)
    return with_catalog(settings, kind=CatalogKind.UNITY, url=unity.url, token=token, name=name)


@pytest.fixture
def of_glue(settings: Settings, s3: S3Server) -> Settings:
    """Settings with databases of the test's own, at a server that stands for AWS."""
    options = {name: SecretStr(value) for name, value in KEYS.items()}
    databases = f"d{uuid4().hex}_{{layer}}"
    return with_catalog(
        settings, kind=CatalogKind.GLUE, url=s3.url, options=options, databases=databases
    )
