from lake_assets_tests.storage.conftest import bucket, moto, s3

__all__ = ["bucket", "moto", "s3"]
