"""`lake-assets restore`: a backup put back, or one table to one of its versions."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from lake_assets.backup.lake_tables import tables_in
from lake_assets.backup.progress import Progress
from lake_assets.backup.restore import Restored
from lake_assets.backup.scheduled import place_at
from lake_assets.backup.table_restore import TableRestore, table_restore
from lake_assets.bronze.offsets import continuation
from lake_assets.cli.answer import Problem, Severity, tell
from lake_assets.cli.backup_places import (
    BackupOption,
    moment_of,
    progress_bar,
    table_named,
)
from lake_assets.cli.confirm import (
    DryRunOption,
    YesOption,
    counted,
    ensure_confirmed,
    in_words,
    say,
    touched,
)
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption, endpoints_if_any
from lake_assets.erasure.obeyed_restore import restore as put_back
from lake_assets.errors import UsageError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.origins import of_names
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.storage.open_store import lake_of


def restore(
    *,
    place: Annotated[
        str | None, typer.Argument(help="Where the backup is, as `backup` was told.")
    ] = None,
    number: BackupOption = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the tables of a lake that has rows."),
    ] = False,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="No backup: only this table, to one of its versions (`silver/silver_uno_events`).",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", help="Of the table.", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            help="In place of a version: as the table was then (UTC, 2026-11-24T12:00).",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup back: into an empty folder, or in place of a lake, with its streams stopped.

    The lake goes on from what the backup holds, as long as its source has the rows after it. A
    restore that is cut off leaves a lake that nothing uses until it was run again.

    With `--table` one table goes back to one of its own versions, by a commit that can itself be
    put back. What follows for the tables after it is told first.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    if table is not None:
        _ensure_only(place is None and number is None and not force, "--table", "a backup")
        _restore_table(
            settings,
            table_named(table),
            _moment(version, at),
            asking=(dry_run, yes),
            as_json=as_json,
        )
        return
    _ensure_only(version is None and at is None, "--version and --at", "a backup; name --table")
    if place is None:
        raise UsageError("PLACE", "is missing", "Name a place of backups, or a --table")
    _restore_backup(settings, place, number, force=force, asking=(dry_run, yes), as_json=as_json)


def _restore_backup(
    settings: Settings,
    place: str,
    number: int | None,
    *,
    force: bool,
    asking: tuple[bool, bool],
    as_json: bool,
) -> None:
    found, progress = place_at(settings, place), Progress()
    dry_run, yes = asking
    lake = lake_of(settings)
    # Who has answered ahead may restore over what nobody can read any more.
    is_asked = dry_run or (force and not yes)
    there = touched(lake, tables_in(lake)) if is_asked else []
    now = [one for one in there if one.rows or not one.is_readable]
    if dry_run:
        manifest = found.manifest(number)
        words = f"backup {manifest.number} of {manifest.made_at} would be put into "
        words += f"{settings.lake_root}: {len(manifest.tables)} tables"
        lines = [words, *(["in place of:", *in_words(now)] if now else [])]
        result = {
            "is_dry_run": True,
            "backup": manifest.number,
            "tables": {one.table: one.version for one in manifest.tables},
            "replaces": now,
        }
        tell("restore", result, as_json=as_json, show=partial(_say, lines))
        return
    if now and force:
        what = f"{counted(len(now), 'table')} of {settings.lake_root} would be replaced"
        ensure_confirmed(what, in_words(now), yes=yes)
    with progress_bar("Restoring", progress):
        done = put_back(settings, found, progress, number=number, force=force)
    notes = (*done.manifest.notes, *_erased(done), *_next_backups(done, place))
    result = {
        "backup": done.manifest.number,
        "lake": done.lake_id,
        "is_other": done.is_other,
        "tables": {one.table: one.version for one in done.manifest.tables},
    }
    tell(
        "restore",
        result,
        [Problem(what=note, severity=Severity.WARNING) for note in notes],
        as_json=as_json,
        show=lambda: _show(settings, done),
    )


def _show(settings: Settings, done: Restored) -> None:
    other = (
        f"; it is a lake of its own ({done.lake_id}), since {done.manifest.lake.lake.path} lives on"
        if done.is_other
        else ""
    )
    stdout.print(
        f"{len(done.manifest.tables)} tables in {settings.lake_root}, as they were at "
        f"{done.manifest.made_at}{other}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _erased(done: Restored) -> Iterator[str]:
    """What was not brought since it is erased, in words, if anything was."""
    if any(done.obeyed.rows.values()):
        counts = (f"{table} ({rows:,})" for table, rows in sorted(done.obeyed.rows.items()))
        yield f"rows that are erased were not brought: of {', '.join(counts)}"
    if done.obeyed.dropped:
        tables = ", ".join(done.obeyed.dropped)
        yield f"{tables}: left out, since made of such rows: the next refresh computes what is gold"
    for words in done.obeyed.left:
        yield f"not done yet: {words}"


def _next_backups(done: Restored, place: str) -> Iterator[str]:
    """What to know before this lake is backed up, in words, if it is anything."""
    if not (done.is_backed_up_here or done.is_other):
        yield (
            f"{place} stays the place of the lake that was backed up: give this one another, or, "
            f"if that is gone for good, run `lake-assets backup {place} --take-over` once"
        )


def _ensure_only(fits: bool, options: str, other: str) -> None:  # noqa: FBT001 - a condition
    if not fits:
        raise UsageError(options, f"does not go with {other}", "Leave one of them out")


def _moment(version: int | None, at: str | None) -> datetime | int:
    if (version is None) == (at is None):
        raise UsageError("--table", "needs one of --version and --at", "Name one of them")
    return version if version is not None else moment_of(str(at))


def _restore_table(
    settings: Settings,
    table: TableRef,
    at: datetime | int,
    *,
    asking: tuple[bool, bool],
    as_json: bool,
) -> None:
    dry_run, yes = asking
    with table_restore(settings, table, at) as (planned, commit):
        _ensure_source_has(settings, planned)
        if not planned.is_idle:
            words = f"{table.relative}: version {planned.newest} ({planned.rows_now:,} rows) "
            words += f"becomes what {planned.version} was ({planned.rows_then:,} rows)"
            say([words, *(f"- {follows}" for follows in planned.follows)])
            if not dry_run:
                ensure_confirmed(f"{table.relative} would be put back", yes=yes)
                commit()
    result = {
        "table": table.relative,
        "version": planned.version,
        "rows": planned.rows_then,
        "changed": not (planned.is_idle or dry_run),
        "is_dry_run": dry_run,
    }
    words = f"{table.relative} is what it was in version {planned.version}"
    words += "" if planned.is_idle else " again"
    words = words if planned.is_idle or not dry_run else "nothing was changed"
    tell("restore", result, as_json=as_json, show=partial(_say, [words]))


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)


def _ensure_source_has(settings: Settings, planned: TableRestore) -> None:
    """Make sure that what bronze lacks then can be read again; told to be unknown if so."""
    endpoints = endpoints_if_any(settings)
    if planned.next_offsets is None or planned.is_idle:
        return
    feeds = load_feeds(settings.feeds)
    feed = next(one for one in feeds if bronze_of(one.feed) == planned.table)
    if endpoints is None:
        stderr.print(f"{feed.source.declared.system} does not answer: see that it has those rows")
        return
    extent, offsets = source_of(feed, endpoints, lake_of(settings)).extent(), planned.next_offsets
    there = of_names(offsets, extent.names)
    for name in sorted({name for name, _ in offsets} - {*extent.names}):
        stderr.print(f"{feed.source.declared.title_of(name)} is not there any more")
    known = extent.of({name for name, _ in there})
    for gap in continuation(feed.source.declared, known, there).gaps:
        lost = f"{feed.source.declared.system} has {gap} no more"
        stderr.print(f"{lost}: the streams will record them as a gap", highlight=False)
