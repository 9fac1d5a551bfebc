from lake_assets_tests.committing import committer, land
from lake_assets_tests.storage.conftest import bucket, s3

__all__ = ["bucket", "committer", "land", "s3"]
