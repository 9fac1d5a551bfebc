import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource


def declared(**given):
    return FilesSource.model_validate({"path": "s3://landing/beats", "format": "jsonl", **given})


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("s3://landing/beats/", "s3://landing/beats"),
        ("s3://landing", "s3://landing"),
        ("s3://landing/", "s3://landing"),
        ("gs://landing/a b/%20", "gs://landing/a b/%20"),
        ("az://container/beats", "az://container/beats"),
        ("abfss://c@account.dfs.core.windows.net/x", "abfss://c@account.dfs.core.windows.net/x"),
        ("//data/beats/", "/data/beats"),
    ],
)
def test_a_place_is_a_folder_or_a_bucket_and_a_prefix(given, path):
    assert declared(path=given).path == path
    assert declared(path=given).is_bucket == ("://" in path)


@pytest.mark.parametrize(
    "path",
    [
        "data/beats",
        "/data/../beats",
        "s3:/landing/beats",
        "s3://",
        "s3:///beats",
        "s3://landing/../other",
        "s3://landing/a//beats",
        "s3://landing/a\tb",
        "s3://key:secret@landing/beats",
        "ftp://landing/beats",
        "https://landing.s3.amazonaws.com/beats",
    ],
)
def test_what_is_no_place_is_refused(path):
    with pytest.raises(ValidationError):
        declared(path=path)


def test_files_of_a_bucket_need_not_settle_unless_it_is_declared():
    assert declared().settles_for_s == 0
    assert declared(settle="1m").settles_for_s == 60
    assert declared(path="/data").settles_for_s == 10
    assert declared(path="/data", settle="0s").settles_for_s == 0


@pytest.mark.parametrize(
    ("path", "archive", "why"),
    [
        ("s3://landing/beats", "s3://landing/beats", "would be found there again"),
        ("s3://landing/beats", "s3://landing/beats/done", "would be found there again"),
        ("s3://landing", "s3://landing/done", "would be found there again"),
        ("s3://landing/beats", "s3://other/done", "within its own bucket alone"),
        ("s3://landing/beats", "/done", "within its own bucket alone"),
        ("/data", "s3://landing/done", "within a folder alone"),
        ("/data", "/data/done", "would be found there again"),
        ("/", "/done", "would be found there again"),
    ],
)
def test_an_archive_that_files_cannot_go_to_is_refused(path, archive, why):
    with pytest.raises(ValidationError, match=why):
        declared(path=path, archive=archive)


@pytest.mark.parametrize(
    ("path", "archive"),
    [("s3://landing/a/b", "s3://landing/a"), ("s3://a/b", "s3://a"), ("/data/a", "/data")],
)
def test_an_archive_that_the_path_is_in_is_refused_where_folders_are_gone_through(path, archive):
    """`a/b/b/x` would go to `a/b/x`, and be found again as `x`."""
    assert declared(path=path, archive=archive).archive == archive
    with pytest.raises(ValidationError, match="path is in it"):
        declared(path=path, archive=archive, pattern="**/*")


@pytest.mark.parametrize(
    ("path", "archive"),
    [("s3://landing/beats", "s3://landing/beats-done"), ("/data/beats", "/data/beats-done")],
)
def test_an_archive_may_have_a_name_that_begins_alike(path, archive):
    assert declared(path=path, archive=archive).archive == archive


@pytest.mark.parametrize(
    "name",
    [
        "aws_secret_access_key",
        "AWS_SESSION_TOKEN",
        "azure_storage_account_key",
        "azure_storage_sas_token",
        "azure_client_secret",
        "google_service_account_key",
        "default_headers",
    ],
)
def test_a_secret_that_is_written_into_a_feed_is_refused_and_not_shown(name):
    source = {"path": "s3://landing/beats", "format": "jsonl", "options": {name: "hush"}}
    with pytest.raises(ValidationError) as caught:
        Feed.model_validate({"feed": "beats", "source": {"files": source}, "payload": {"json": {}}})
    assert f"{name} may be secret" in str(caught.value)
    assert "hush" not in f"{caught.value} {caught.value!r}"


def test_a_login_in_an_address_is_refused():
    with pytest.raises(ValidationError, match="aws_endpoint may be secret"):
        declared(options={"aws_endpoint": "https://me:hush@host"})


@pytest.mark.parametrize(
    "name",
    [
        "aws_access_key_id",
        "aws_endpoint",
        "aws_skip_signature",
        "aws_web_identity_token_file",
        "aws_container_authorization_token_file",
        "google_service_account",
        "azure_federated_token_file",
        "retry_timeout",
    ],
)
def test_what_says_where_a_secret_is_is_none(name):
    assert declared(options={name: "x"}).options == {name: "x"}


def test_a_folder_has_no_options_and_no_option_is_given_twice():
    key = {"aws_access_key_id": {"env": "KEY_ID"}}
    with pytest.raises(ValidationError, match="are for a bucket"):
        declared(path="/data", secrets=key)
    with pytest.raises(ValidationError, match="among both options and secrets"):
        declared(options={"aws_access_key_id": "x"}, secrets=key)
