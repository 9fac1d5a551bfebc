"""`lake-assets convert`: Parquet files made a Delta table where they are."""

from pathlib import Path
from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.confirm import DryRunOption
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import HomeOption, JsonOption, LakeOption
from lake_assets.delta.convert import Converted
from lake_assets.delta.convert import convert as convert_folder
from lake_assets.errors import LakeError
from lake_assets.settings.load import load_settings
from lake_assets.storage.open_store import lake_of


def convert(
    *,
    folder: Annotated[Path, typer.Argument(help="Folder of the Parquet files.")],
    partition_by: Annotated[
        str,
        typer.Option(
            "--partition-by",
            help="Columns that its folders are called by: `day date, country string`.",
            show_default=False,
        ),
    ] = "",
    lake: LakeOption = None,
    home: HomeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a folder's Parquet files a Delta table where they are, without copying a byte.

    Writes a Delta log into the folder, and nothing else, as CONVERT TO DELTA does. A feed's views
    then read it as `external`. Files that come later are no part of the table, unless a Delta
    writer adds them.
    """
    if lake_of(load_settings(lake=lake, home=home)).root.overlaps(folder):
        fact = "is in the lake, or has the lake in it"
        raise LakeError(str(folder), fact, "Tables of the lake are made by its feeds")
    done = convert_folder(folder.absolute(), partition_by, dry_run=dry_run)
    result = {
        "folder": folder.absolute(),
        "is_dry_run": dry_run,
        "files": done.files,
        "rows": done.rows,
        "columns": [{"name": field.name, "type": str(field.type)} for field in done.columns],
    }
    tell("convert", result, as_json=as_json, show=lambda: _show(folder, done, dry_run=dry_run))


def _show(folder: Path, done: Converted, *, dry_run: bool) -> None:
    told = f"{'would be ' if dry_run else ''}a Delta table of {done.files:,} files"
    told = f"{folder}: {told} and {done.rows:,} rows"
    stdout.print(told, markup=False, highlight=False, soft_wrap=True)
    for field in done.columns:
        stdout.print(f"  {field.name} {field.type}", markup=False, highlight=False)
