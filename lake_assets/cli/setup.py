"""`lake-assets setup`: have ahead what the first commands would have to wait for."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stderr
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.demo.record_classes import record_classes
from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.class_archive import archive_path
from lake_assets.runtime.java import Java
from lake_assets.runtime.setup import ensure_files, ensure_runtime, groups_of
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings


def setup(
    *,
    only_spark: Annotated[
        bool, typer.Option("--only-spark", help="Without the embedded Kafka and registry.")
    ] = False,
    class_archive: Annotated[
        bool, typer.Option(help="Record an archive of Spark's classes (200 to 250 MB).")
    ] = True,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch Spark's, Kafka's and the registry's jars, and record an archive of Spark's classes.

    For a lake in S3, Google's storage or Azure, 10, 35 or 1 MB of jars come besides, with which
    Spark reads it.

    With the archive each later start of Spark takes half as long. It is recorded by running the
    demo once, in a minute or two, for the Java that is found now; again after another Java or
    PySpark was installed. Without Kafka and the registry there is no demo, and so no archive.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    runtime = ensure_runtime(settings, console=stderr)
    archive = archive_path(runtime.java, runtime.spark_jars, settings.runtime.cache)
    if not only_spark:
        ensure_files(groups_of(settings), runtime.java, settings, console=stderr)
        if class_archive and not archive.is_file():
            _record(settings, runtime.java, archive)
    result = {
        "java": runtime.java.home,
        "jars": len(runtime.spark_jars) + len(runtime.store_jars),
        "class_archive": archive if archive.is_file() else None,
    }
    tell("setup", result, as_json=as_json)


def _record(settings: Settings, java: Java, archive: Path) -> None:
    """Record the archive; a failure is told, and nothing more, for all works without."""
    stderr.print("recording an archive of Spark's classes: a minute or two, once …")
    try:
        record_classes(settings, java, archive)
    except RuntimeSetupError as problem:
        text = f"[yellow]note[/yellow]: {escape(str(problem))}"
        stderr.print(text, soft_wrap=True, highlight=False, emoji=False)
        return
    size = archive.stat().st_size / 1e6
    text = f"recorded {archive} ({size:.0f} MB)"
    stderr.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)
