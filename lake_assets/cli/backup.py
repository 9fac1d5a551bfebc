"""`lake-assets backup`: a copy of a lake that fits together, made while the lake goes on."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from rich.filesize import decimal

from lake_assets.backup.create import back_up
from lake_assets.backup.manifest import Manifest
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.scheduled import place_at, target_of
from lake_assets.backup.verify import verify as look
from lake_assets.cli.answer import Problem, Severity, tell
from lake_assets.cli.backup_places import BackupOption, PlaceArgument, progress_bar
from lake_assets.cli.confirm import DryRunOption, YesOption, ensure_confirmed
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.errors import UsageError
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
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    forget_place: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Make none: know nothing of the place any more, since it is gone for good.",
        ),
    ] = False,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the lake into a folder or a bucket, as tables fit together, while it is used.

    A second backup into the same place copies only what is new, and both can be restored. One that
    is cut off is not there; the next goes on from what it copied. `restore` puts one back.
    """
    if number is not None and not verify:
        raise UsageError("--backup", "goes with --verify alone", "Leave it out")
    for option, is_given in (("--keep", keep is not None), ("--take-over", take_over)):
        if is_given and verify:
            raise UsageError(option, "does not go with --verify", "Leave one of them out")
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    found = target_of(settings) if place is None else place_at(settings, place)
    if forget_place:
        _forget(settings, str(found), as_json=as_json)
        return
    if verify:
        _verify(look_of := found.manifest(number), look(found, look_of, read=True), as_json=as_json)
        return
    pruned = [] if keep is None else _pruned(found, keep)
    if dry_run:
        result = {"is_dry_run": True, "place": str(found), "pruned": pruned}
        words = f"a backup would be made in {found}, and {len(pruned)} older ones deleted"
        tell("backup", result, as_json=as_json, show=_say(words))
        return
    if pruned:
        what = f"backups {', '.join(map(str, pruned))} of {found} would go after the new one"
        ensure_confirmed(what, yes=yes)
    progress = Progress()
    with progress_bar("Backing up", progress):
        manifest = back_up(settings, found, progress, keep=keep, take_over=take_over)
    notes = [Problem(what=one, severity=Severity.WARNING) for one in manifest.notes]
    copied = {"copied_files": progress.copied_files, "copied_bytes": progress.copied_bytes}
    words = (
        f"backup {manifest.number} in {found}: {len(manifest.tables)} tables, "
        f"{decimal(manifest.size_bytes)}; {progress.copied_files:,} files "
        f"({decimal(progress.copied_bytes)}) copied, {progress.kept_files:,} were there"
    )
    tell("backup", {**_as_json(manifest), **copied}, notes, as_json=as_json, show=_say(words))


def _pruned(place: BackupPlace, keep: int) -> list[int]:
    """The backups that go once there is one more."""
    there = [] if place.lake_id() is None else place.numbers()
    return there[: max(0, len(there) + 1 - keep)]


def _forget(settings: Settings, place: str, *, as_json: bool) -> None:
    ensure_bound(settings)
    is_known = forget(settings.state_dir, place)
    words = "is known of no longer" if is_known else "was not known of"
    result = {"place": place, "was_known": is_known}
    tell("backup", result, as_json=as_json, show=_say(f"{place} {words}"))


def _verify(manifest: Manifest, wrong: list[str], *, as_json: bool) -> None:
    words = (
        f"backup {manifest.number} of {manifest.made_at} is whole: "
        f"{len(manifest.tables)} tables, {decimal(manifest.size_bytes)}"
    )
    tell(
        "backup",
        _as_json(manifest),
        [Problem(what=one) for one in wrong],
        as_json=as_json,
        show=None if wrong else _say(words),
    )


def _say(words: str) -> Callable[[], None]:
    return partial(stdout.print, words, markup=False, highlight=False, soft_wrap=True)


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
