"""What AWS's errors mean; that they come so is moto's and botocore's to show."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from lake_assets.catalog.aws import calling, client_of
from lake_assets.errors import CatalogError
from lake_assets.settings.catalog import CatalogKind, CatalogSettings


def told(problem, **options):
    with pytest.raises(CatalogError) as caught, calling("AWS Glue", **options):
        raise problem
    return str(caught.value)


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("AccessDeniedException", "Grant glue:GetDatabases"),
        ("ExpiredTokenException", "Renew the session token"),
        ("UnrecognizedClientException", "Correct the key, and the region"),
        ("ThrottlingException", "Run it again later"),
        ("InternalServiceException", "See to what AWS says; nothing was lost"),
    ],
)
def test_a_refusal_says_what_to_do(code, step):
    answer = {"Error": {"Code": code, "Message": "no way.\nmore"}}
    words = told(ClientError(answer, "GetTables"))
    assert words.startswith(f"AWS Glue: refuses ({code}: no way). {step}")


def test_an_error_that_says_that_nothing_is_left_to_do_is_none():
    answer = {"Error": {"Code": "EntityNotFoundException", "Message": "gone"}}
    with calling("AWS Glue", there="EntityNotFoundException"):
        raise ClientError(answer, "DeleteTable")
    assert "EntityNotFoundException: gone" in told(ClientError(answer, "DeleteTable"))


def test_no_answer_and_no_login_are_told():
    nowhere = EndpointConnectionError(endpoint_url="http://127.0.0.1:9")
    assert "does not answer" in told(nowhere)
    assert "has no credentials. Give a key" in told(NoCredentialsError())


def test_a_region_has_to_be_told(monkeypatch, tmp_path):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(CatalogError, match="AWS glue: has no region"):
        client_of("glue", CatalogSettings(kind=CatalogKind.GLUE))


def test_a_region_may_be_told_by_either_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_REGION", raising=False)
    settings = CatalogSettings(kind=CatalogKind.GLUE)
    assert client_of("glue", settings).meta.region_name == "eu-west-1"
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert client_of("glue", settings).meta.region_name == "eu-west-2"
