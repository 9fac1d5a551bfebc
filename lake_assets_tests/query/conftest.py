from lake_assets_tests.committing import committer, land

__all__ = ["committer", "land"]
