"""Which places of files there are: the one place that maps what a source declares to one."""

from collections.abc import Callable, Mapping

from pydantic import SecretStr

from lake_assets.model.files_source import FilesSource
from lake_assets.settings.load import secret_of
from lake_assets.settings.secrets import secrets_of
from lake_assets.sources.files.folder import Folder
from lake_assets.sources.files.place import FilePlace


def open_place(source: FilesSource, look_up: Callable[[str], SecretStr] = secret_of) -> FilePlace:
    """The place of a source's files; nothing is asked of it yet.

    Args:
        source: what is declared.
        look_up: knows secrets by their variables.

    Raises:
        SettingsError: a secret is not there, or an option of a bucket cannot be used.
    """
    if not source.is_bucket:
        return Folder(source)
    # Loaded only for buckets: each of Spark's workers would pay for it.
    from lake_assets.sources.files.bucket import Bucket  # noqa: PLC0415

    return Bucket(source, look_up)


def secrets_for(source: FilesSource) -> Mapping[str, SecretStr]:
    """The secrets that the source's place takes, by variable, for processes that have not these.

    Raises:
        SettingsError: one is not set.
    """
    return secrets_of(source.secrets.values())
