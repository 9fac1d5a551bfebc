"""Everything Spark needs on this machine, in one call; `lake-assets setup` makes it ahead."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lake_assets.model.lake_uri import AZURE, GCS, S3, LakeUri
from lake_assets.runtime.class_archive import archive_path, is_left_to_us
from lake_assets.runtime.jars import GROUPS, Group, ensure_groups
from lake_assets.runtime.java import Java, find_java
from lake_assets.runtime.progress import download_bar
from lake_assets.settings.load import jvm_options
from lake_assets.settings.schema import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime:
    """A Java and the jars that pyspark lacks."""

    java: Java
    spark_jars: tuple[Path, ...]
    store_jars: tuple[Path, ...] = ()
    """What Spark reads the lake's bucket with; they come last on the class path, since an archive
    of classes serves only a path that begins as the one it was recorded with."""

    class_archive: Path | None = None
    """An archive of Spark's classes to start from, if one was recorded for this Java and jars."""


def ensure_runtime(settings: Settings, *, console: Console | None = None) -> Runtime:
    """Find Java and have Spark's jars in the cache; a second call downloads nothing.

    Raises:
        RuntimeSetupError: Java or a jar is missing and cannot be had.
    """
    java = find_java(settings.runtime.cache)
    groups: tuple[Group, ...] = ("spark", *_store_groups(settings.lake_root))
    files = ensure_files(groups, java, settings, console=console)
    jars = files["spark"]
    archive = archive_path(java, jars, settings.runtime.cache)
    is_usable = archive.is_file() and is_left_to_us(jvm_options())
    return Runtime(
        java=java,
        spark_jars=jars,
        store_jars=tuple(jar for group in groups[1:] for jar in files[group]),
        class_archive=archive if is_usable else None,
    )


def groups_of(settings: Settings) -> tuple[Group, ...]:
    """What a lake with its embedded services needs: none of a store's jars on a disk."""
    stores = _store_groups(settings.lake_root)
    return tuple(group for group in GROUPS if group not in _OF_STORES or group in stores)


_OF_STORES: dict[Group, str] = {"s3": S3, "azure": AZURE, "google": GCS}
"""Groups that only lakes in a kind of store need, with that kind."""


def _store_groups(root: LakeUri) -> tuple[Group, ...]:
    return tuple(group for group, scheme in _OF_STORES.items() if scheme == root.scheme)


def spark_jars(settings: Settings) -> tuple[Path, ...]:
    """The jars that pyspark lacks."""
    return ensure_runtime(settings).spark_jars


def ensure_files(
    groups: tuple[Group, ...], java: Java, settings: Settings, *, console: Console | None = None
) -> dict[Group, tuple[Path, ...]]:
    """Have the files of several groups, with a progress bar on `console` while they land.

    Raises:
        RuntimeSetupError: a file is missing and cannot be had.
    """
    with download_bar(console) as on_progress:
        return ensure_groups(groups, java, settings.runtime, on_progress=on_progress)
