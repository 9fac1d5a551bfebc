"""Everything Spark needs on this machine, in one call.

`python -m lake_assets.runtime.setup [GROUP ...]` fetches it ahead, the services' jars included.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from lake_assets.errors import LakeAssetsError
from lake_assets.runtime.jars import GROUPS, Group, ensure_groups
from lake_assets.runtime.java import Java, find_java
from lake_assets.runtime.progress import download_bar
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime:
    """A Java and the jars that pyspark lacks."""

    java: Java
    spark_jars: tuple[Path, ...]


def ensure_runtime(settings: Settings, *, console: Console | None = None) -> Runtime:
    """Find Java and have Spark's jars in the cache; a second call downloads nothing.

    Raises:
        RuntimeSetupError: Java or a jar is missing and cannot be had.
    """
    java = find_java(settings.runtime.cache)
    files = ensure_files(("spark",), java, settings, console=console)
    return Runtime(java=java, spark_jars=files["spark"])


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


def main() -> int:
    """Fetch everything or the groups named; the Makefile calls this once after an install."""
    groups = tuple(group for group in GROUPS if group in sys.argv[1:]) or GROUPS
    console = Console(stderr=True)
    try:
        settings = load_settings()
        java = find_java(settings.runtime.cache)
        ensure_files(groups, java, settings, console=console)
    except LakeAssetsError as problem:
        console.print(f"[red]error[/red]: {escape(str(problem))}", soft_wrap=True, highlight=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
