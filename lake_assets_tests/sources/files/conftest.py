from lake_assets_tests.storage.conftest import bucket, s3

__all__ = ["bucket", "s3"]
