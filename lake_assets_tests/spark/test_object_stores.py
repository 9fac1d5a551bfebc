"""Options of a store as Hadoop has them; and a lake in S3, read by a Spark of its own."""

import json
import re

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.errors import SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.object_stores import hadoop_properties
from lake_assets_tests.programs import run_program
from lake_assets_tests.storage.servers import run_s3

ROOT = LakeUri.parse("s3://a.bucket/lake")
OWN = "fs.s3a.bucket.a.bucket."
KEYS = {"aws_access_key_id": "me", "aws_secret_access_key": "hush"}


def of_s3(options, environment=None):
    found = hadoop_properties(ROOT, options, environment or {})
    mine = {name.removeprefix(OWN): value for name, value in found.plain.items()}
    assert all(name.startswith(OWN) for name in found.secret)
    return mine, {name.removeprefix(OWN): value for name, value in found.secret.items()}


def test_a_lake_on_a_disk_has_no_properties(tmp_path):
    found = hadoop_properties(LakeUri.local(tmp_path), {"aws_region": "x"}, {})
    assert (found.plain, found.secret) == ({}, {})


def test_nothing_said_is_amazon_s_with_the_login_of_the_machine():
    plain, secret = of_s3({})
    assert plain.pop("aws.credentials.provider").split(",") == [
        "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
        "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider",
        "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider",
    ]
    assert plain == {
        "fs.s3a.input.stream.type": "classic",
        "fs.s3a.audit.enabled": "false",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
    }
    assert secret == {}


def test_keys_are_hidden_and_who_checks_them_is_told():
    plain, secret = of_s3(KEYS)
    assert plain["aws.credentials.provider"].endswith(".SimpleAWSCredentialsProvider")
    assert secret == {"access.key": "me", "secret.key": "hush"}
    plain, secret = of_s3({**KEYS, "AWS_TOKEN": "a while"})
    assert plain["aws.credentials.provider"].endswith(".TemporaryAWSCredentialsProvider")
    assert secret["session.token"] == "a while"


def test_half_a_login_is_completed_by_the_environment_or_refused():
    _, secret = of_s3({"access_key_id": "me"}, {"AWS_SECRET_ACCESS_KEY": "hush"})
    assert secret == {"access.key": "me", "secret.key": "hush"}
    with pytest.raises(SettingsError, match="aws_secret_access_key is missing"):
        of_s3({"access_key_id": "me"})
    with pytest.raises(SettingsError, match="aws_access_key_id is missing"):
        of_s3({"secret_access_key": "hush"})


def test_a_login_of_the_environment_alone_stays_there():
    environment = {name.upper(): value for name, value in KEYS.items()}
    plain, secret = of_s3({}, environment)
    assert "EnvironmentVariable" in plain["aws.credentials.provider"]
    assert secret == {}


def test_a_public_bucket_is_asked_without_a_login():
    plain, secret = of_s3({**KEYS, "aws_skip_signature": "true"})
    assert plain["aws.credentials.provider"].endswith(".AnonymousAWSCredentialsProvider")
    assert secret == {}


@pytest.mark.parametrize(
    ("endpoint", "is_tls"), [("http://127.0.0.1:9000", "false"), ("https://minio.local", "true")]
)
@pytest.mark.parametrize("name", ["aws_endpoint", "endpoint_url", "aws_endpoint_url_s3"])
def test_another_server_is_asked_by_path(name, endpoint, is_tls):
    plain, _ = of_s3({name: endpoint, "aws_allow_http": "true", "aws_region": "eu-1"})
    assert plain["endpoint"] == endpoint
    assert plain["connection.ssl.enabled"] == is_tls
    assert plain["path.style.access"] == "true"
    assert plain["endpoint.region"] == "eu-1"


def test_the_environment_stands_where_an_option_is_missing():
    environment = {"AWS_ENDPOINT_URL": "https://far", "AWS_REGION": "far-1"}
    plain, _ = of_s3({"region": "near-1"}, environment)
    assert (plain["endpoint"], plain["endpoint.region"]) == ("https://far", "near-1")


def test_a_bucket_s_own_host_is_asked_by_the_server_s():
    virtual = {"aws_virtual_hosted_style_request": "true"}
    plain, _ = of_s3({**virtual, "aws_endpoint": "https://a.bucket.oss.example:8443"})
    assert plain["endpoint"] == "https://oss.example:8443"
    assert plain["path.style.access"] == "false"
    with pytest.raises(SettingsError, match="the endpoint does not begin with the bucket"):
        of_s3({**virtual, "aws_endpoint": "https://oss.example"})


def test_a_proxy_is_told_and_its_password_hidden():
    plain, secret = of_s3({"proxy_url": "http://u:p%40w@proxy:3128"})
    shown = {key: value for key, value in plain.items() if key.startswith("proxy")}
    assert shown == {
        "proxy.host": "proxy",
        "proxy.port": "3128",
        "proxy.ssl.enabled": "false",
        "proxy.username": "u",
    }
    assert secret == {"proxy.password": "p@w"}
    with pytest.raises(SettingsError, match="proxy_url is no address") as refused:
        of_s3({"proxy_url": "http://u:hush@:99999999"})
    assert "hush" not in str(refused.value)


def test_the_reader_pays_where_it_is_told_to():
    assert of_s3({"aws_request_payer": "true"})[0]["requester.pays.enabled"] == "true"


def test_what_concerns_writing_alone_changes_nothing():
    options = {"aws_server_side_encryption": "AES256", "timeout": "30s", "max_retries": "3"}
    assert of_s3(options) == of_s3({})


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("aws_role_arn", "Set AWS_ROLE_ARN in the environment"),
        ("aws_metadata_endpoint", "Set AWS_EC2_METADATA_SERVICE_ENDPOINT in the environment"),
        ("aws_sse_customer_key_base64", "Do without it"),
        ("allow_invalid_certificates", "Do without it"),
        ("nonsense", "Do without it"),
    ],
)
def test_what_spark_cannot_heed_is_refused_by_name(name, step):
    with pytest.raises(SettingsError, match=rf"{name} cannot be heeded by Spark.*{step}"):
        of_s3({name: "x"})


READS = """
import json, sys
from pathlib import Path
import psutil
from deltalake import DeltaTable
from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_paths import data_file
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import StorageSettings
from lake_assets.spark.read_tables import Contents, TableVersion, columns_of_all, read_contents
from lake_assets.spark.session import start_session

home, lake, name, options = sys.argv[1:]
settings = load_settings(home=Path(home)).model_copy(
    update={"lake": Path(lake), "storage": StorageSettings(options=json.loads(options))}
)
runtime = ensure_runtime(settings)
session = start_session(settings, runtime)
table = settings.lake_root / name
handle = DeltaTable(table.for_deltalake(), storage_options=settings.storage.secrets)
files = tuple(data_file(table, file.path) for file in active_files(handle))
columns = columns_of_all([handle])
seen = {
    "files": Contents(files=files),
    "version": Contents(versions=(TableVersion(table, 0),)),
}
rows = {
    how: sorted(row.n for row in read_contents(session, contents, columns).collect())
    for how, contents in seen.items()
}
key = read_contents(session, seen["version"], columns).first().key
jvms = [child for child in psutil.Process().children(recursive=True) if child.name() == "java"]
told = [*session.sparkContext.getConf().getAll(), *(jvm.cmdline() for jvm in jvms)]
print(json.dumps({
    **rows,
    "key": key,
    "told": str(told),
    "redacted": session.sparkContext.getConf().get("spark.redaction.regex"),
}))
session.stop()
"""


SPARKS_OWN = "(?i)secret|password|token|access[.]?key"
"""Default of `spark.redaction.regex` (https://spark.apache.org/docs/latest/configuration.html)."""


@pytest.mark.spark
def test_spark_reads_a_lake_in_s3_by_files_and_by_versions(tmp_path):
    """The names have in them what addresses encode, and what Spark takes for patterns."""
    lake, name = "s3://a.bucket/la ke/50% ü=1", "silver/t ä%=1 {a}[b]"
    address = (LakeUri.parse(lake) / name).for_deltalake()
    with run_s3() as s3:
        s3.make_bucket("a.bucket")
        options = {**s3.options, "aws_secret_access_key": "hush-hush"}
        for first in (0, 10):
            rows = pa.table({"n": range(first, first + 10), "key": ["a b%/ü=1"] * 10})
            write_deltalake(
                address, rows, mode="append", partition_by=["key"], storage_options=options
            )
        # Of a store that is asked too often, has an error of its own, and hangs up in an answer.
        s3.refuse("GET", ".parquet", "SlowDown", status=503, times=3)
        s3.refuse("GET", ".parquet", "InternalError", status=500, times=2)
        s3.refuse("GET", ".parquet", "cut", times=2)
        s3.fail("HEAD", ".parquet", "torn", times=1)
        said = run_program(READS, [str(tmp_path), lake, name, json.dumps(options)])
    found = json.loads(said.splitlines()[-1])
    assert found["files"] == list(range(20))
    assert found["version"] == list(range(10))
    assert found["key"] == "a b%/ü=1"
    assert "fs.s3a.bucket." in found["told"]
    assert "hush-hush" not in found["told"]
    hidden = hadoop_properties(
        LakeUri.parse(lake), {**options, "aws_token": "t", "proxy_url": "http://u:p@h"}, {}
    ).secret
    assert len(hidden) == 4
    redacted = found["redacted"] or SPARKS_OWN
    assert all(re.search(redacted, property_) for property_ in hidden)
