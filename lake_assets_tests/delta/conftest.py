from lake_assets_tests.committing import committer, land
from lake_assets_tests.delta.stores import store

__all__ = ["committer", "land", "store"]
