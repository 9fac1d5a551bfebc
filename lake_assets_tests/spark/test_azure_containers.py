"""Options of Azure as Hadoop has them; and a lake there, read by a Spark of its own."""

import json
import re

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.object_stores import hadoop_properties
from lake_assets_tests.programs import run_program
from lake_assets_tests.spark.test_object_stores import READS

HOST = "acc.dfs.core.windows.net"
ROOT = LakeUri.parse(f"abfss://box@{HOST}/lake")
KEY = {"azure_storage_account_key": "hush"}


def of_azure(options, environment=None):
    found = hadoop_properties(ROOT, options, environment or {})
    return dict(found.plain), dict(found.secret)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"azure_storage_account_name": "acc", "timeout": "5s", "max_retries": "2"},
        {"azure_storage_endpoint": "https://acc.blob.core.windows.net/"},
    ],
)
def test_a_key_of_microsoft_s_own_store_is_used_with_tls_and_hidden(more):
    plain, secret = of_azure({**KEY, **more})
    assert plain["fs.azure.always.use.https"] == "true"
    assert plain[f"fs.azure.account.auth.type.{HOST}"] == "SharedKey"
    assert not any("endpoint" in name or "service.type" in name for name in plain)
    assert "hush" not in str(plain)
    assert secret == {f"fs.azure.account.key.{HOST}": "hush"}


def test_a_server_of_one_s_own_speaks_as_blob_storage_does():
    plain, _ = of_azure({**KEY, "azure_storage_endpoint": "http://azurite:10000/acc"})
    assert plain["fs.azure.always.use.https"] == "false"
    assert plain["fs.azure.abfs.endpoint"] == "azurite:10000"
    assert plain[f"fs.azure.fns.account.service.type.{HOST}"] == "BLOB"


def test_a_key_may_be_in_the_environment():
    _, secret = of_azure({}, {"AZURE_STORAGE_ACCOUNT_KEY": "around", "AZURE_OTHER": "x"})
    assert secret == {f"fs.azure.account.key.{HOST}": "around"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "have no login that Spark takes.*Give azure_storage_account_key"),
        ({**KEY, "azure_storage_sas_key": "sig=x"}, "azure_storage_sas_key cannot be heeded"),
        ({**KEY, "azure_client_secret": "x"}, "azure_client_secret cannot be heeded by Spark"),
        ({**KEY, "azure_storage_use_emulator": "true"}, "Give azure_storage_endpoint"),
        ({**KEY, "proxy_url": "http://h"}, "proxy_url cannot be heeded"),
        ({**KEY, "azure_endpoint": "https://acc.blob.core.chinacloudapi.cn"}, "is no address of"),
        ({**KEY, "azure_endpoint": "http://h:1/other"}, "is no address of account acc"),
        ({**KEY, "azure_endpoint": "http://[::1]:1/acc"}, "is no address of account acc"),
    ],
)
def test_what_spark_cannot_do_is_refused_by_name(options, told):
    with pytest.raises(SettingsError, match=told):
        of_azure(options)


@pytest.mark.parametrize(
    "address",
    ["az://box/lake", "abfss://b@a.dfs.core.chinacloudapi.cn/x", f"abfss://b@.x.{HOST}/l"],
)
def test_an_address_without_its_account_is_refused(address):
    with pytest.raises(SettingsError, match="Write abfss://b"):
        hadoop_properties(LakeUri.parse(address), KEY, {})


@pytest.mark.spark
def test_spark_reads_a_lake_in_azure_by_files_and_by_versions(tmp_path, azurite):
    azurite.make_bucket("a-box")
    lake, name = f"{azurite.address('a-box')}/some/lake", "silver/t=1"
    address = (LakeUri.parse(lake) / name).for_deltalake()
    options = azurite.options
    for first in (0, 10):
        rows = pa.table({"n": range(first, first + 10), "key": ["a b%/\u00fc=1"] * 10})
        write_deltalake(address, rows, mode="append", partition_by=["key"], storage_options=options)
    said = run_program(READS, [str(tmp_path), lake, name, json.dumps(options)])
    found = json.loads(said.splitlines()[-1])
    assert (found["files"], found["version"]) == (list(range(20)), list(range(10)))
    assert found["key"] == "a b%/\u00fc=1"
    assert "fs.azure.always.use.https" in found["told"]
    assert options["azure_storage_account_key"] not in found["told"]
    (hidden,) = hadoop_properties(LakeUri.parse(lake), options, {}).secret
    assert re.search(found["redacted"], hidden)
    handle = DeltaTable(address, storage_options=options)
    handle.delete()
    gone = handle.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert len(gone) == 2
