"""What `backup`, `restore` and `tables` share: where a backup lies, how far they are, times."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from lake_assets.backup.progress import Progress
from lake_assets.cli.console import stderr
from lake_assets.errors import UsageError
from lake_assets.model.tables import TABLE_NAME, Layer, TableRef

PlaceArgument = Annotated[
    str | None,
    typer.Argument(
        help="A folder, or s3://, gs:// or az://; of one lake's backups alone.",
        show_default="LAKE_ASSETS_BACKUP_TARGET",
    ),
]
BackupOption = Annotated[
    int | None,
    typer.Option("--backup", help="Which backup of the place.", show_default="the newest"),
]


def moment_of(text: str) -> datetime | int:
    """A time as a user wrote it, in UTC unless it says otherwise, or a version's number.

    Raises:
        UsageError: it is neither.
    """
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as problem:
        fact = f"is neither a time nor a version: {text!r}"
        raise UsageError("--at", fact, "Write it like 2026-11-24T12:00, or 17") from problem
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def table_named(text: str) -> TableRef:
    """A table as `tables --at` shows it: its layer and its name.

    Raises:
        UsageError: it is none.
    """
    layer, _, name = text.partition("/")
    if layer not in set(Layer) or not TABLE_NAME.fullmatch(name):
        fact = f"is no table: {text!r}"
        raise UsageError("--table", fact, "Write it like silver/silver_uno_events")
    return TableRef(layer=Layer(layer), name=name)


@contextmanager
def progress_bar(title: str, progress: Progress) -> Iterator[None]:
    """Show how far it is, on a console; nothing else where there is none."""
    if not stderr.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=stderr) as bar:
        task = bar.add_task(title, total=None)

        def show(now: Progress) -> None:
            words = f"{title}: {now.copied_files:,} files, {decimal(now.copied_bytes)}"
            bar.update(task, total=now.of_tables, completed=now.tables, description=words)

        progress.told = show
        yield
