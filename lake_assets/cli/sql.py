"""`lake-assets sql`: a query over the lake, by names of tables."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.errors import LakeAssetsError, QueryError, UsageError
from lake_assets.runtime.atomic_write import replacing
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

_SHOWN_ROWS = 100
"""Rows of a table that people read, unless they ask for more."""

_PIPED_WIDTH = 10_000
"""Characters of a line that is no terminal's: rows stay whole."""


class Format(StrEnum):
    """What a result is written as."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


def sql(
    *,
    query: Annotated[
        str,
        typer.Argument(help="One SELECT; tables are `layer.name`, or the name alone."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file, replaced when all rows are in the new one."),
    ] = None,
    kind: Annotated[
        Format,
        typer.Option("--format", help="jsonl: an object a line. parquet: needs --output."),
    ] = Format.TABLE,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help="Rows, at most.", show_default=f"all; {_SHOWN_ROWS} of a table"),
    ] = None,
    memory_mb: Annotated[
        int, typer.Option(min=64, help="Megabytes it may hold; then it uses the disk.")
    ] = 1024,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query the lake's tables by name, in DuckDB's SQL; nothing is written but the result.

    Names are those that `lake-assets tables` shows, such as `silver_uno_events` or
    `gold.gold_uno_player_agg`; `describe gold.gold_uno_player_agg` shows a table's columns. Tables
    are read as they are at this moment, on a disk or in a bucket, beside running streams. A query
    reaches these tables and nothing else: no files, no network, no settings.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    _ensure_writable(settings, kind, output)
    try:
        # DuckDB is an extra: most of who stream never query from a terminal.
        from lake_assets.query.engine import run_query  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        if problem.name != "duckdb":
            raise
        step = "Install it: pip install 'lake-assets[sql]'"
        raise QueryError("duckdb", "is not installed, and runs queries", step) from problem
    if as_json and (kind is not Format.TABLE or output is not None):
        fact = "does not go with --format and --output"
        raise UsageError("--json", fact, "Use --format jsonl for a file of rows")
    answer: dict[str, object] = {}

    def write(result: "DuckDBPyRelation") -> None:
        if as_json:
            answer.update(_answer(result, limit))
        else:
            _write(result, kind, output, limit)

    run_query(lake_of(settings), query, write, memory_bytes=memory_mb * 1024 * 1024)
    tell("sql", answer, as_json=as_json)


def _answer(result: "DuckDBPyRelation", limit: int | None) -> dict[str, object]:
    """Columns and rows, as `--format jsonl` writes these."""
    from lake_assets.query.results import write_json  # noqa: PLC0415 - as above

    columns = [
        {"name": name, "type": str(type_)}
        for name, type_ in zip(result.columns, result.types, strict=True)
    ]
    text = StringIO()
    write_json(result, text, limit)
    return {"columns": columns, "rows": [json.loads(line) for line in text.getvalue().splitlines()]}


def _ensure_writable(settings: Settings, kind: Format, output: Path | None) -> None:
    if output is None:
        if kind is Format.PARQUET:
            raise QueryError("--format parquet", "is no text for a terminal", "Name an --output")
        return
    if output.is_dir():
        raise QueryError(f"--output {output}", "is a folder", "Name a file")
    if output.exists() and not output.is_file():
        # A pipe or /dev/null would be replaced by a file for all who use it.
        raise QueryError(f"--output {output}", "is no file", "Name one, or leave --output out")
    if settings.lake_root.overlaps(output.absolute()):
        raise QueryError(f"--output {output}", "is in the lake", "Write it elsewhere")


def _write(
    result: "DuckDBPyRelation", kind: Format, output: Path | None, limit: int | None
) -> None:
    from lake_assets.query.results import (  # noqa: PLC0415 - as above
        write_csv,
        write_json,
        write_parquet,
    )

    texts: dict[Format, Callable[[DuckDBPyRelation, IO[str], int | None], int]] = {
        Format.TABLE: _write_table,
        Format.CSV: write_csv,
        Format.JSONL: write_json,
    }
    if output is None:
        texts[kind](result, sys.stdout, limit)
        return
    # Where a link leads: another one's link, or /dev/stdout, stays one.
    with _telling(output), replacing(Path(os.path.realpath(output))) as staged:
        if kind is Format.PARQUET:
            rows = write_parquet(result, staged, limit)
        else:
            with staged.open("w", encoding="utf-8", newline="") as out:
                rows = texts[kind](result, out, limit)
    stderr.print(f"{rows:,} rows in {escape(str(output))}", highlight=False, soft_wrap=True)


@contextmanager
def _telling(output: Path) -> Iterator[None]:
    try:
        yield
    except LakeAssetsError:
        raise
    except OSError as problem:
        if problem.errno is None:  # the query's, by Arrow, and no disk's
            raise
        fact = f"cannot be written ({problem.strerror or problem})"
        raise QueryError(f"--output {output}", fact, "Name a file that can be") from problem


def _write_table(result: "DuckDBPyRelation", out: IO[str], limit: int | None) -> int:
    from lake_assets.query.results import printable, text_rows  # noqa: PLC0415 - as above

    shown = Table()
    for name, kind in zip(result.columns, result.types, strict=True):
        is_number = any(word in kind.id for word in ("int", "double", "float", "decimal"))
        justify = "right" if is_number else "left"
        shown.add_column(escape(printable(name)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    rows = text_rows(result)
    most = _SHOWN_ROWS if limit is None else limit
    for row in islice(rows, most):
        shown.add_row(*("" if value is None else escape(printable(value)) for value in row))
    is_terminal = out is sys.stdout and stdout.is_terminal
    console = stdout if is_terminal else Console(file=out, width=_PIPED_WIDTH)
    console.print(shown)
    if limit is None and next(rows, None) is not None:
        stderr.print(f"the first {most} rows; --limit shows more", highlight=False)
    return shown.row_count
