"""A prefix of a bucket as a place of files, on a real server that speaks S3."""

import pytest

from lake_assets_tests.sources.files.buckets import KEY, KEY_ID, Bucketed
from lake_assets_tests.sources.files.place_contract import PlaceContract


@pytest.fixture
def folder(tmp_path, s3, bucket, monkeypatch):
    for name in (KEY_ID, KEY):
        monkeypatch.setenv(name, "hush-hush")
    return Bucketed(tmp_path, server=s3, bucket=bucket)


class TestBucket(PlaceContract):
    """All that a place of files promises."""
