from lake_assets_tests.committing import committer, land
from lake_assets_tests.delta.stores import store
from lake_assets_tests.storage.conftest import bucket, moto, s3

__all__ = ["bucket", "committer", "land", "moto", "s3", "store"]
