import pickle
from pathlib import Path

import pytest

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import AZURE, GCS, LOCAL, S3, LakeUri

ODD = "jo s\u00e9 100% %20 {y} [z] * # ? .x"


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("/a b/c%20", LakeUri(LOCAL, "", "/a b/c%20")),
        ("/", LakeUri(LOCAL, "", "/")),
        ("/a//b/./c/", LakeUri(LOCAL, "", "/a/b/c")),
        ("s3://bucket", LakeUri(S3, "bucket", "")),
        ("s3://bucket/", LakeUri(S3, "bucket", "")),
        ("s3a://bucket/a b/c%20/", LakeUri(S3, "bucket", "a b/c%20")),
        ("S3://my.bucket-1/x", LakeUri(S3, "my.bucket-1", "x")),
        ("gs://bucket/x", LakeUri(GCS, "bucket", "x")),
        ("az://container/x", LakeUri(AZURE, "container", "x")),
        (
            "abfss://container@account.dfs.core.windows.net/x",
            LakeUri(AZURE, "container@account.dfs.core.windows.net", "x"),
        ),
    ],
)
def test_a_path_or_an_address_is_a_place(text, uri):
    assert LakeUri.parse(text) == uri
    assert LakeUri.parse(str(uri)) == uri


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("relative/path", "is no absolute path"),
        ("", "is no absolute path"),
        ("file:///a", "Write the folder's path alone"),
        ("hdfs://host/a", r"a kind that is not supported \(hdfs://…\). Use a folder, s3://"),
        ("s3:///a", "is no address of a bucket"),
        ("s3:/", "is no address of a bucket"),
        ("s3://bu cket/a", "is no address of a bucket"),
        ("s3://user:secret@bucket/a", "is no address of a bucket"),
        ("s3://bucket/a//b", "without `..` and empty parts"),
        ("s3://bucket/a/../b", "without `..` and empty parts"),
        ("s3://bucket/a\tb", "without `..` and empty parts"),
    ],
)
def test_what_is_no_place_is_refused(text, why):
    with pytest.raises(LakeError, match=why):
        LakeUri.parse(text)


@pytest.mark.parametrize(
    ("address", "uri"),
    [
        ("file:///a%20b/100%25", "/a b/100%"),
        ("file://host/a", "/a"),
        ("file:/a%20b", "/a b"),
        ("/a%20b", "/a%20b"),
        ("s3://bucket/a%20b/100%25/", "s3://bucket/a b/100%"),
        ("s3a://bucket/%5Bx%5D", "s3://bucket/[x]"),
    ],
)
def test_an_address_is_decoded_and_a_path_is_not(address, uri):
    assert LakeUri.from_address(address) == LakeUri.parse(uri)


@pytest.mark.parametrize("root", ["/", "/lake", "s3://bucket", "s3://bucket/lake"])
@pytest.mark.parametrize("name", [ODD, "trailing ", ".hidden", "...", "a..b", "-", "=1"])
def test_a_name_below_is_taken_as_it_is(root, name):
    uri = LakeUri.parse(root)
    file = uri / name
    assert (file.name, file.parent) == (name, uri)
    assert uri / f"{name}/x" == file / "x"
    assert str(file) == f"{str(uri).removesuffix('/')}/{name}"
    assert LakeUri.from_address(file.for_deltalake()) == file


@pytest.mark.parametrize("name", ["", ".", "..", "/a", "a/", "a//b", "a/../b", "../a", "a\nb"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    for root in ("/lake", "s3://bucket/lake"):
        with pytest.raises(LakeError, match="can have nothing below it that is called"):
            _ = LakeUri.parse(root) / name


def test_a_root_is_its_own_parent_and_has_a_name():
    assert LakeUri.parse("/").parent == LakeUri.parse("/")
    bucket = LakeUri.parse("s3://bucket")
    assert (bucket.parent, bucket.name) == (bucket, "bucket")


def test_spark_and_deltalake_get_their_own_forms():
    local, bucket = LakeUri.parse("/a b%"), LakeUri.parse("s3://bucket/a b%/c=1")
    assert (local.for_spark(), local.for_deltalake()) == ("/a b%", "/a b%")
    assert bucket.for_spark() == "s3a://bucket/a b%/c=1"
    assert bucket.for_deltalake() == "s3://bucket/a%20b%25/c=1"
    assert LakeUri.parse("gs://bucket/x").for_spark() == "gs://bucket/x"
    azure = LakeUri.parse("abfss://box@account.dfs.core.windows.net/x")
    assert azure.for_spark() == "abfs://box@account.dfs.core.windows.net/x"
    assert LakeUri.from_address(azure.for_spark()) == azure
    assert azure.for_deltalake() == str(azure)
    with pytest.raises(LakeError, match=r"Write abfss://box@<account>\.dfs"):
        LakeUri.parse("az://box/x").for_spark()


def test_a_local_place_is_a_path_and_another_is_none():
    assert LakeUri.local(Path("/a/b")).as_path() == Path("/a/b")
    with pytest.raises(LakeError, match="s3://bucket/a: is in a bucket, and a folder"):
        LakeUri.parse("s3://bucket/a").as_path()


def test_folders_overlap_a_place_that_they_are_in_or_that_is_in_them_links_followed(tmp_path):
    lake, other = tmp_path / "data" / "lake", tmp_path / "other"
    (lake / "silver").mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(lake)
    place = LakeUri.local(tmp_path / "link")
    overlapping = [lake, lake / "silver", tmp_path / "link" / "silver", tmp_path / "data"]
    assert [place.overlaps(folder) for folder in overlapping] == [True] * 4
    apart = [other, tmp_path / "data" / "lake2", tmp_path / "data" / "none"]
    assert [place.overlaps(folder) for folder in apart] == [False] * 3
    assert not LakeUri.parse("s3://bucket/a").overlaps(Path("/"))


def test_a_place_is_a_value():
    one, same = LakeUri.parse("s3://bucket/a"), LakeUri.parse("s3a://bucket/a/")
    assert {one: 1}[same] == 1
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own bytes
