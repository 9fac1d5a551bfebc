"""`lake-assets backup`: a copy of a lake that fits together, made while the lake goes on."""

import json
from typing import Annotated

import typer
from rich.filesize import decimal

from lake_assets.backup.create import back_up
from lake_assets.backup.manifest import Manifest
from lake_assets.backup.progress import Progress
from lake_assets.backup.scheduled import place_at, target_of
from lake_assets.backup.verify import verify as look
from lake_assets.cli.backup_places import BackupOption, PlaceArgument, progress_bar
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import JsonOption, LakeOption
from lake_assets.errors import SettingsError
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_notes import forget
from lake_assets.state.lake_id import ensure_bound


def backup(
    *,
    place: PlaceArgument = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Make none: read the newest backup and compare its checksums."
        ),
    ] = False,
    number: BackupOption = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            min=1,
            help="Delete older backups of the place but so many, with what only they had.",
            show_default="all",
        ),
    ] = None,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="Go on in a place whose newest backup another copy of the lake made, which is "
            "gone for good: it is refused there from then on.",
        ),
    ] = False,
    forget_place: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Make none: know nothing of the place any more, since it is gone for good.",
        ),
    ] = False,
    lake: LakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the lake into a folder or a bucket, as tables fit together, while it is used.

    A second backup into the same place copies only what is new, and both can be restored. One that
    is cut off is not there; the next goes on from what it copied. `restore` puts one back.
    """
    if number is not None and not verify:
        raise SettingsError("--backup", "goes with --verify alone", "Leave it out")
    for option, is_given in (("--keep", keep is not None), ("--take-over", take_over)):
        if is_given and verify:
            raise SettingsError(option, "does not go with --verify", "Leave one of them out")
    settings = load_settings(lake=lake)
    found = target_of(settings) if place is None else place_at(settings, place)
    if forget_place:
        _forget(settings, str(found))
        return
    if verify:
        _verify(look_of := found.manifest(number), look(found, look_of, read=True), as_json=as_json)
        return
    progress = Progress()
    with progress_bar("Backing up", progress):
        manifest = back_up(settings, found, progress, keep=keep, take_over=take_over)
    for note in manifest.notes:
        stderr.print(note, markup=False, highlight=False, soft_wrap=True)
    if as_json:
        copied = {"copied_files": progress.copied_files, "copied_bytes": progress.copied_bytes}
        print(json.dumps({**_as_json(manifest), **copied}))
        return
    stdout.print(
        f"backup {manifest.number} in {found}: {len(manifest.tables)} tables, "
        f"{decimal(manifest.size_bytes)}; {progress.copied_files:,} files "
        f"({decimal(progress.copied_bytes)}) copied, {progress.kept_files:,} were there",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _forget(settings: Settings, place: str) -> None:
    ensure_bound(settings)
    is_known = forget(settings.state_dir, place)
    words = "is known of no longer" if is_known else "was not known of"
    stdout.print(f"{place} {words}", markup=False, highlight=False, soft_wrap=True)


def _verify(manifest: Manifest, wrong: list[str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({**_as_json(manifest), "wrong": wrong}))
    else:
        for words in wrong:
            stdout.print(words, markup=False, highlight=False, soft_wrap=True)
        if not wrong:
            stdout.print(
                f"backup {manifest.number} of {manifest.made_at} is whole: "
                f"{len(manifest.tables)} tables, {decimal(manifest.size_bytes)}",
                highlight=False,
            )
    if wrong:
        raise typer.Exit(1)


def _as_json(manifest: Manifest) -> dict[str, object]:
    return {
        "backup": manifest.number,
        "made_at": manifest.made_at,
        "lake": manifest.lake.id,
        "tables": {one.table: one.version for one in manifest.tables},
        "rows": {one.table: one.rows for one in manifest.tables},
        "size_bytes": manifest.size_bytes,
        "notes": list(manifest.notes),
    }
