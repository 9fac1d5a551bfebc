import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import LakeError, SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.storage.contract import ODD, Place, StoreContract
from lake_assets_tests.storage.servers import KEYS, PAGE, S3Server, run_s3

TABLE = "jo s\u00e9 100% {y} [z] * # ? ^ |"
"""Not `%20`: deltalake decodes that twice."""

NO_RETRY = {"max_retries": "0", "timeout": "5s", "connect_timeout": "1s"}


@pytest.fixture
def s3(either_s3):
    return either_s3


@pytest.fixture
def place(s3, bucket):
    return place_in(s3, LakeUri.parse(f"s3://{bucket}/some/lake"))


def place_in(server: S3Server, folder: LakeUri) -> Place:
    store, is_java = ObjectStore(folder, server.options), server.kind == "s3proxy"
    return Place(store, folder, clock_s=1.1, page=PAGE, has_java_s_order=is_java)


class TestS3(StoreContract):
    """All that a store promises, on a real server."""


class TestTheRootOfABucket(StoreContract):
    """The same without a path in the bucket, on one of the servers."""

    @pytest.fixture
    def s3(self, moto):
        return moto

    @pytest.fixture
    def place(self, s3, bucket):
        return place_in(s3, LakeUri.parse(f"s3://{bucket}"))


def test_the_server_has_a_file_under_the_name_that_spark_and_deltalake_look_for(s3, bucket):
    root = LakeUri.parse(f"s3://{bucket}")
    table = root / "lake" / TABLE
    write_deltalake(table.for_deltalake(), pa.table({"a": [1]}), storage_options=s3.options)
    handle = DeltaTable(table.for_deltalake(), storage_options=s3.options)
    assert LakeUri.from_address(handle.table_uri) == table
    log = table / "_delta_log"
    store = ObjectStore(root, s3.options)
    assert list(store.list_from(log)) == [f"{0:020}.json"]
    assert f"{log.path}/{0:020}.json" in s3.keys(bucket)
    assert store.put_if_absent(table / ODD, b"x")
    assert f"{table.path}/{ODD}" in s3.keys(bucket)


def told(store: ObjectStore, file: LakeUri) -> list[str]:
    uses = (
        lambda: store.put_if_absent(file, b"x"),
        lambda: store.get(file),
        lambda: list(store.list_from(file.parent)),
        lambda: writes(store, file),
    )
    facts = []
    for use in uses:
        with pytest.raises(LakeError) as caught:
            use()
        facts.append(str(caught.value))
    return facts


def writes(store: ObjectStore, file: LakeUri) -> None:
    with store.open_for_writing(file) as stream:
        stream.write(b"x")


def test_a_bucket_that_is_not_there_is_named(s3):
    root = LakeUri.parse("s3://no-such-bucket/lake")
    for fact in told(ObjectStore(root, {**s3.options, **NO_RETRY}), root / "file"):
        assert "there is no bucket 'no-such-bucket'. Create the bucket, or name another" in fact
        assert fact.startswith("s3://no-such-bucket/lake")


def test_a_server_that_does_not_answer_is_named():
    root = LakeUri.parse("s3://bucket/lake")
    options = {**KEYS, **NO_RETRY, "aws_endpoint": "http://127.0.0.1:9", "allow_http": "true"}
    for fact in told(ObjectStore(root, options), root / "file"):
        assert "the store does not answer" in fact
        assert "Check its endpoint and the network" in fact


def test_wrong_credentials_are_told_and_not_shown():
    root = LakeUri.parse("s3://bucket/lake")
    wrong = {"aws_access_key_id": "AKIAWRONG", "aws_secret_access_key": "hush hush"}
    with run_s3(trusting=1) as server:
        server.make_bucket("bucket")
        store = ObjectStore(root, {**server.options, **wrong, **NO_RETRY})
        facts = told(store, root / "file")
    for fact in facts:
        assert "the store refuses our credentials" in fact
        assert "Check the access key and what it may do in bucket 'bucket'" in fact
        assert "hush" not in fact
    assert "hush" not in repr(store)


@pytest.mark.parametrize("address", ["127.0.0.1:5000", "", "http://", "http://a b", "s3://x"])
def test_an_endpoint_that_is_no_address_is_refused(address):
    with pytest.raises(SettingsError, match="aws_endpoint is no address"):
        ObjectStore(LakeUri.parse("s3://bucket"), {**KEYS, "aws_endpoint": address})


@pytest.mark.parametrize(
    ("variable", "value"), [("AWS_ACCESS_KEY_ID", "key\n"), ("AWS_ENDPOINT_URL", "no address")]
)
def test_what_of_the_environment_cannot_be_used_is_told(monkeypatch, variable, value):
    """As of a secret of Kubernetes that was written with a line's end."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hush hush")
    monkeypatch.setenv(variable, value)
    root = LakeUri.parse("s3://bucket/lake")
    for fact in told(ObjectStore(root, NO_RETRY), root / "file"):
        assert "no request can be made with its options" in fact
        assert "hush" not in fact


@pytest.mark.parametrize(
    "options", [{"aws_nonsense": "1"}, {"max_retries": "many"}, {"retry_timeout": "1 hush"}]
)
def test_options_that_cannot_be_used_are_refused(options):
    with pytest.raises(SettingsError, match="storage options of s3://bucket: cannot be used"):
        ObjectStore(LakeUri.parse("s3://bucket"), options)


@pytest.mark.parametrize("limit", ["20", "20s"])
def test_patience_is_told_to_obstore_and_to_deltalake_alike(moto, limit):
    moto.make_bucket(bucket := f"patience-{limit}")
    table = LakeUri.parse(f"s3://{bucket}/t")
    options = ObjectStore(table, {**moto.options, "retry_timeout": limit}).options
    assert options["retry_timeout"] == "20s"
    write_deltalake(table.for_deltalake(), pa.table({"a": [1]}), storage_options=options)


def test_a_file_of_another_bucket_is_refused(place):
    with pytest.raises(LakeError, match="is not in the bucket of"):
        place.store.get(LakeUri.parse("s3://other/file"))


def test_google_s_and_azure_s_are_opened_by_their_names():
    google = LakeUri.parse("gs://bucket/lake")
    assert ObjectStore(google, {"google_skip_signature": "true"}).root == google
    azure = LakeUri.parse("abfss://container@account.dfs.core.windows.net/lake")
    assert ObjectStore(azure, {"azure_skip_signature": "true"}).root == azure


def test_without_an_account_the_options_that_tell_it_are_named():
    with pytest.raises(SettingsError) as raised:
        ObjectStore(LakeUri.parse("az://container/lake"), {})
    assert "azure_storage_account_name and azure_storage_account_key" in raised.value.next_step
