"""Which store a place has: our own on a disk, obstore's elsewhere."""

from collections.abc import Mapping

from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import Durability, Settings
from lake_assets.storage.local import LocalStore
from lake_assets.storage.store import Store


def store_of(
    root: LakeUri,
    options: Mapping[str, str] | None = None,
    durability: Durability = Durability.POWER,
) -> Store:
    """The store of a place and of all that is on its disk or in its bucket; nothing is read yet.

    Args:
        root: a folder of a lake, or the lake's.
        options: of a bucket, as deltalake takes them.
        durability: what a local store's `flush` waits for.

    Raises:
        SettingsError: an option of a bucket cannot be used.
    """
    if root.is_local:
        return LocalStore(root, durability)
    # Loaded only for buckets: each of Spark's workers would pay for it.
    from lake_assets.storage.objects import ObjectStore  # noqa: PLC0415

    return ObjectStore(root, options or {})


def lake_of(settings: Settings) -> Store:
    """The store at the root of the lake of `settings`; nothing is read yet."""
    options = settings.storage.secrets
    return store_of(settings.lake_root, options, settings.fanout.durability)
