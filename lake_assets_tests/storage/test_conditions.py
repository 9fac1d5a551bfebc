import pytest

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.conditions import ensure_conditions
from lake_assets.storage.objects import ObjectStore


@pytest.fixture
def root(either_s3, bucket):
    yield LakeUri.parse(f"s3://{bucket}/lake")
    either_s3.forgive()


@pytest.fixture
def s3(either_s3):
    return either_s3


def test_a_store_that_heeds_conditions_is_taken_and_keeps_nothing_of_the_trial(s3, root):
    ensure_conditions(root, s3.options)
    assert list(ObjectStore(root, s3.options).list_from(root)) == []


@pytest.mark.parametrize("does", ["blind", "racing"])
def test_a_store_that_passes_over_conditions_or_looks_first_is_refused(s3, root, does):
    s3.fail("PUT", root.path, does)
    with pytest.raises(LakeError, match="does not heed If-None-Match") as refused:
        ensure_conditions(root, s3.options)
    assert "as AWS, MinIO and Ceph do" in refused.value.next_step


def test_a_store_that_passes_over_the_version_is_refused(s3, root):
    s3.fail("PUT", root.path, "unversioned")
    with pytest.raises(LakeError, match="does not heed If-Match"):
        ensure_conditions(root, s3.options)


def test_a_store_that_does_not_know_conditions_is_refused(s3, root):
    s3.refuse("PUT", root.path, "NotImplemented", status=501)
    with pytest.raises(LakeError, match="does not heed If-None-Match and If-Match"):
        ensure_conditions(root, s3.options)


def test_answers_that_are_lost_are_no_proof(s3, root):
    """A server that put the file and whose answer did not arrive refuses the next try."""
    for times in (1, 3):
        s3.fail("PUT", root.path, "lost", times=times)
        ensure_conditions(root, s3.options)


def test_a_store_that_refuses_us_is_told_as_such(s3, root):
    s3.refuse("PUT", root.path, "AccessDenied")
    with pytest.raises(LakeError, match="refuses our credentials"):
        ensure_conditions(root, s3.options)
