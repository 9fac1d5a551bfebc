"""Lakes on a disk and in a bucket, for tests that want the same of both."""

import pytest

from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.local import LocalStore
from lake_assets.storage.objects import ObjectStore


@pytest.fixture(params=["disk", "bucket"])
def store(request, tmp_path):
    """A lake's store, with nothing in it."""
    if request.param == "disk":
        return LocalStore.at(tmp_path / "lake")
    return in_bucket(request.getfixturevalue("bucket"), request.getfixturevalue("s3"))


def in_bucket(bucket, s3, kind=ObjectStore):
    return kind(LakeUri.parse(f"s3://{bucket}/some/lake"), s3.options)
