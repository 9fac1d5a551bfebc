"""Options of Google's as Hadoop has them; and a lake there, read by a Spark of its own."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.object_stores import hadoop_properties
from lake_assets_tests.programs import run_program
from lake_assets_tests.spark.test_object_stores import READS

ROOT = LakeUri.parse("gs://a-bucket/lake")
FILE = {"google_service_account": "/keys/lake.json"}
BY_FILE = {
    "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
    "fs.gs.auth.service.account.json.keyfile": "/keys/lake.json",
}


def of_google(options, environment=None):
    found = hadoop_properties(ROOT, options, environment or {})
    assert found.secret == {}
    return found.plain


@pytest.mark.parametrize(
    "name",
    ["google_service_account", "service_account", "GOOGLE_SERVICE_ACCOUNT_PATH"],
)
def test_a_key_is_named_by_its_file(name):
    assert of_google({name: "/keys/lake.json", "max_retries": "2", "google_timeout": "5s"}) == (
        BY_FILE
    )


def test_a_key_s_file_may_be_named_by_the_environment_and_an_option_comes_first():
    around = {"GOOGLE_SERVICE_ACCOUNT": "/keys/lake.json", "GOOGLE_CLOUD_PROJECT": "x"}
    assert of_google({}, around) == BY_FILE
    assert of_google(FILE, {"GOOGLE_SERVICE_ACCOUNT": "/keys/other.json"}) == BY_FILE


def test_without_a_key_spark_looks_where_google_s_libraries_look():
    around = {"GOOGLE_APPLICATION_CREDENTIALS": "/keys/lake.json"}
    assert of_google({}, around) == of_google({}) == {"fs.gs.auth.type": "APPLICATION_DEFAULT"}


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("google_service_account_key", "give its path as google_service_account"),
        ("service_account_key", "give its path as google_service_account"),
        ("google_application_credentials", "Set GOOGLE_APPLICATION_CREDENTIALS in the environment"),
        ("google_base_url", "Google's own address alone"),
        ("google_proxy_url", "Set HTTPS_PROXY, and https.proxyHost"),
        ("proxy_url", "Set HTTPS_PROXY, and https.proxyHost"),
        ("google_bearer_token", "Do without it"),
        ("google_skip_signature", "Do without it"),
        ("allow_invalid_certificates", "Do without it"),
        ("google_bucket", "Do without it"),
        ("nonsense", "Do without it"),
    ],
)
def test_what_spark_cannot_heed_is_refused_by_name(name, step):
    with pytest.raises(SettingsError, match=rf"options of gs://.*{name} cannot be.*{step}") as told:
        of_google({**FILE, name: "hush"})
    assert "hush" not in str(told.value)


@pytest.mark.parametrize(
    "name", ["SERVICE_ACCOUNT_KEY", "BASE_URL", "BEARER_TOKEN", "SKIP_SIGNATURE", "PROXY_URL"]
)
def test_what_has_rust_alone_ask_otherwise_is_refused_in_the_environment_too(name):
    with pytest.raises(SettingsError, match=f"environment: GOOGLE_{name} cannot be heeded"):
        of_google(FILE, {f"GOOGLE_{name}": "x"})


@pytest.mark.spark
@pytest.mark.parametrize("login", ["option", "environment"])
def test_spark_reads_a_lake_of_google_s_by_files_and_by_versions(tmp_path, gcs, login, monkeypatch):
    bucket = f"a-box_of.{login}"
    gcs.make_bucket(bucket)
    lake, name = f"{gcs.address(bucket)}/some/lake", "silver/t=1"
    address = (LakeUri.parse(lake) / name).for_deltalake()
    options = gcs.options if login == "option" else {}
    if login == "environment":
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(gcs.key_file))
    for first in (0, 10):
        rows = pa.table({"n": range(first, first + 10), "key": ["a b%/\u00fc=1"] * 10})
        write_deltalake(address, rows, mode="append", partition_by=["key"], storage_options=options)
    said = run_program(READS, [str(tmp_path), lake, name, json.dumps(options)])
    found = json.loads(said.splitlines()[-1])
    assert (found["files"], found["version"]) == (list(range(20)), list(range(10)))
    assert found["key"] == "a b%/\u00fc=1"
    assert "fs.gs.auth.type" in found["told"]
    key = json.loads(Path(gcs.key_file).read_text())["private_key"]
    assert key.splitlines()[1] not in found["told"]
    handle = DeltaTable(address, storage_options=options)
    handle.optimize.compact()
    handle.create_checkpoint()
    handle.delete()
    gone = handle.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert len(gone) == 3
