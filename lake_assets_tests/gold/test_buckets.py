import pytest

from lake_assets.delta.commit import DataFile
from lake_assets.gold.buckets import (
    MAX_BUCKETS,
    bucket_of,
    buckets_for,
    buckets_now,
    prefix_of,
)


def file(path):
    return DataFile(path=path, size=1, rows=1, stats="")


@pytest.mark.parametrize(
    ("rows", "buckets"), [(0, 1), (100, 1), (101, 2), (200, 2), (201, 4), (10**9, MAX_BUCKETS)]
)
def test_buckets_are_the_least_power_of_two_that_holds_the_rows(rows, buckets):
    assert buckets_for(rows, 100) == buckets


@pytest.mark.parametrize(
    ("rows", "had", "buckets"), [(200, 1, 1), (201, 1, 4), (799, 4, 4), (801, 4, 16), (1, 8, 8)]
)
def test_their_number_changes_only_where_they_are_twice_too_full(rows, had, buckets):
    assert buckets_now(rows, had, 100) == buckets


def test_a_file_tells_its_bucket_by_its_name():
    assert bucket_of(file(f"{prefix_of(17)}-0a1b.parquet")) == 17


@pytest.mark.parametrize("path", ["part-17-ab.parquet", "bucket-x-ab.parquet", "day=1/bucket-1-a"])
def test_another_file_tells_none(path):
    assert bucket_of(file(path)) is None
