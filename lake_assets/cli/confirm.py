"""What a command that replaces or deletes says first: which tables, how much; and its question.

Which commands ask is decision 126. In a terminal they ask; elsewhere nobody answers, and `--yes` is
to be given.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from deltalake.exceptions import DeltaError
from rich.filesize import decimal

from lake_assets.cli.console import stderr
from lake_assets.delta.log_history import open_table, state_of
from lake_assets.errors import LakeError, UsageError
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask; needed without a terminal.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Tell what would be done, and change nothing.")
]

_SHOWN = 20
"""Tables that are named; the sums are of all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """A table that a command would change, as it is now."""

    table: str
    rows: int
    files: int
    size_bytes: int
    is_readable: bool = True


def touched(lake: Store, tables: Iterable[TableRef]) -> list[Touched]:
    """Those of some tables that are there; what cannot be read is one of them, and not counted."""
    found = []
    for table in tables:
        try:
            handle = open_table(lake, table)
            state = None if handle is None else state_of(handle)
        except (LakeError, DeltaError):
            nothing = {"rows": 0, "files": 0, "size_bytes": 0}
            found.append(Touched(table=table.name, **nothing, is_readable=False))
            continue
        if state is not None:
            found.append(
                Touched(
                    table=table.name,
                    rows=state.rows,
                    files=state.files,
                    size_bytes=state.size_bytes,
                )
            )
    return found


def in_words(tables: Sequence[Touched]) -> list[str]:
    """A line a table, and one of their sums."""
    lines = [
        f"  {one.table}: {_sums([one]) if one.is_readable else 'cannot be read'}"
        for one in tables[:_SHOWN]
    ]
    if len(tables) > _SHOWN:
        lines.append(f"  and {len(tables) - _SHOWN:,} more")
    return [*lines, f"{counted(len(tables), 'table')}, {_sums(tables)}"]


def counted(count: int, noun: str) -> str:
    """`1 table`, `1,234 tables`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _sums(tables: Sequence[Touched]) -> str:
    rows, files = sum(one.rows for one in tables), sum(one.files for one in tables)
    size = decimal(sum(one.size_bytes for one in tables))
    return f"{counted(rows, 'row')}, {counted(files, 'file')}, {size}"


def say(lines: Iterable[str]) -> None:
    """Print on standard error, where questions are."""
    for line in lines:
        stderr.print(line, markup=False, highlight=False, soft_wrap=True)


def ensure_confirmed(what: str, lines: Iterable[str] = (), *, yes: bool) -> None:
    """Ask before something is done, unless the answer was given ahead.

    Args:
        what: would be done, as a sentence without its end.
        lines: of what it is done to.
        yes: the answer that was given.

    Raises:
        UsageError: nobody can be asked here.
        typer.Abort: the answer is no.
    """
    if yes:
        return
    ensure_can_ask(what)
    say([*lines, f"{what}."])
    typer.confirm("Go on?", abort=True, err=True)


def ensure_can_ask(what: str) -> None:
    """Make sure that somebody sits here who can answer; for what takes long to count, before it.

    Raises:
        UsageError: nobody does.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fact = f"is needed, since there is no terminal to ask in: {what}"
        raise UsageError("--yes", fact, "See what with --dry-run, and add --yes")
