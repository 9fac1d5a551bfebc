"""`lake-assets erase`: a person's rows out of the lake, and a proof that nothing is left."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lake_assets.cli.answer import Problem, tell
from lake_assets.cli.confirm import (
    DryRunOption,
    YesOption,
    counted,
    ensure_can_ask,
    ensure_confirmed,
)
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.erasure.asked import Request
from lake_assets.erasure.audit import audit, in_words
from lake_assets.erasure.copies import Copy, copies_outside
from lake_assets.erasure.counted import count_rows
from lake_assets.erasure.proof import Proof
from lake_assets.erasure.proved import prove_erased
from lake_assets.erasure.run import Erased
from lake_assets.erasure.run import erase as run_erasure
from lake_assets.erasure.scanned import Kind
from lake_assets.erasure.values_file import values_in
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import UsageError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.erasures import Later
from lake_assets.services import control
from lake_assets.settings.load import load_settings

_MOST_SHOWN = 20
"""Findings that are shown; `--json` has all."""


def erase(
    *,
    column: Annotated[
        str | None, typer.Option(help="Which column of silver tells a person.", show_default=False)
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            help="Whose rows; may be given again. Others on this machine see it in the list of "
            "processes: --values spares that.",
            show_default=False,
        ),
    ] = None,
    values: Annotated[
        Path | None,
        typer.Option(help="File with a value a line; - for standard input.", show_default=False),
    ] = None,
    requests: Annotated[
        bool,
        typer.Option(
            "--requests",
            help="What rows of the table log/erasure_requests ask for, made if need be.",
        ),
    ] = False,
    later: Annotated[
        Later, typer.Option(help="What becomes of the person's rows that come from now on.")
    ] = Later.DROP,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Go on with erasures that are not done, by their hashes alone, and take raw rows "
            "out that came since.",
        ),
    ] = False,
    prune_backups: Annotated[
        bool,
        typer.Option(
            "--prune-backups",
            help="Make a new backup in each place that the lake knows of, and delete those from "
            "before the erasure, with what only they had.",
        ),
    ] = False,
    show: Annotated[
        bool, typer.Option("--list", help="Show what was erased, by hashes; change nothing.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    proof: Annotated[
        bool, typer.Option("--proof/--no-proof", help="Look for the values everywhere afterwards.")
    ] = True,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a person's rows from all tables, all versions and all feeds, and keep them out.

    The streams may go on meanwhile. What is kept of the request is a keyed hash of each value, by
    which later rows, rebuilds and restores obey it. A run that dies is run again, and goes on.
    Nothing brings the rows back: it says how many there are, and asks.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    if show:
        _show(audit(settings), as_json=as_json)
        return
    feeds = load_feeds(settings.feeds)
    wanted = _wanted(column, value or [], values)
    if bool(wanted) + requests + again != 1:
        raise UsageError(
            "an erasure",
            "is of values, of the table of requests, or of what is not done",
            "Give --column and --value or --values; or --requests; or --again",
        )
    if dry_run or not (yes or again):
        if not dry_run:
            ensure_can_ask("rows would be erased for good")
        counts = count_rows(settings, feeds, wanted, is_of_table=requests)
        lines = [f"  {table}: {rows:,} rows" for table, rows in counts.items()]
        if dry_run:
            shown = "\n".join([*lines, _summary(counts)])
            tell(
                "erase",
                {"is_dry_run": True, "rows": counts},
                as_json=as_json,
                show=partial(_line, shown),
            )
            return
        ensure_confirmed(_summary(counts), lines, yes=False)
    request = Request(
        wanted=wanted,
        later=later,
        is_of_table=requests,
        is_again=again,
        prunes_backups=prune_backups,
    )
    done = run_erasure(
        settings, feeds, partial(control.locate, settings, feeds), request, tell=_progress
    )
    values_known = [one for one in done.wanted if one.values]
    proved = (
        prove_erased(settings, feeds, done, values_known, tell=_progress)
        if proof and values_known
        else None
    )
    kind = settings.catalog.kind
    copies = copies_outside(feeds, catalog=None if kind is None else kind.value)

    def show_all() -> None:
        _tell(done)
        _tell_proof(proved)
        _tell_copies(copies)

    tell(
        "erase",
        _as_json(done, proved, copies),
        _problems(done, proved, is_told=not as_json),
        as_json=as_json,
        show=show_all,
    )


def _summary(counts: Mapping[str, int]) -> str:
    rows = sum(counts.values())
    what = f"{counted(rows, 'row')} of {counted(len(counts), 'table')} would be erased"
    return f"{what}, with what decoding finds besides, gold of them, and all older versions"


def _problems(done: Erased, proof: Proof | None, *, is_told: bool) -> list[Problem]:
    found = [
        Problem(what="erasure", fact=f"not done yet: {one}", is_told=is_told) for one in done.left
    ]
    if proof is not None and not proof.is_clean:
        many = len(proof.scanned.findings)
        fact = f"found erased values in {many:,} places"
        found.append(Problem(what="proof", fact=fact, is_told=is_told))
    if proof is not None and not proof.is_whole:
        found.append(Problem(what="proof", fact="could not look at all", is_told=is_told))
    return found


def _progress(words: str) -> None:
    stderr.print(words, markup=False, highlight=False, soft_wrap=True)


def _wanted(column: str | None, given: Sequence[str], file: Path | None) -> list[Wanted]:
    texts = [*given, *(() if file is None else values_in(file))]
    if not texts and column is None:
        return []
    return [Wanted(column=column or "", values=tuple(dict.fromkeys(texts)))]


def _tell(done: Erased) -> None:
    for table, rows in sorted(done.taken.rows.items()):
        stdout.print(f"{table}: {rows:,} rows erased", highlight=False)
    if not done.taken.rows:
        stdout.print("no table had such rows")
    if done.taken.letters:
        stdout.print(
            f"{done.taken.letters:,} dead letters and records of sinks quote none any more"
        )
    for table in done.refreshed:
        stdout.print(f"{table}: computed anew", highlight=False)
    ended = done.ended
    stdout.print(
        f"time travel of {len(ended.tables)} tables ended: {ended.files:,} old files deleted",
        highlight=False,
    )
    for one in done.left:
        stdout.print(f"not done yet: {one}", markup=False, highlight=False, soft_wrap=True)


def _tell_proof(proof: Proof | None) -> None:
    if proof is None:
        return
    found = proof.scanned.findings
    temporary = {one.file for one in found if one.kind is Kind.SPILL}
    lasting = [one for one in found if one.kind is not Kind.SPILL]
    for one in lasting[:_MOST_SHOWN]:
        _line(f"FOUND {one.digest[:12]}… in {one.file}: {one.where}")
    if temporary:
        _line(
            f"FOUND in {len(temporary)} temporary files of Spark, such as {min(temporary)}: they "
            "go when its process ends; restart the streams, and delete what killed ones left"
        )
    for unread in proof.scanned.unread[:_MOST_SHOWN]:
        _line(f"not scanned: {unread.what}: {unread.why}")
    _line(f"proof: {len(found):,} found; scanned {'; '.join(proof.scanned.words)}")


def _line(words: str) -> None:
    stdout.print(words, markup=False, highlight=False, soft_wrap=True)


def _tell_copies(copies: Sequence[Copy]) -> None:
    stdout.print("Copies outside the lake, which nobody can erase from here:")
    for copy in copies:
        words = f"- {copy.what}: {copy.do}"
        stdout.print(words, markup=False, highlight=False, soft_wrap=True)


def _show(entries: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    def show_entries() -> None:
        for one in entries:
            stdout.print(in_words(one), markup=False, highlight=False, soft_wrap=True)
        if not entries:
            stdout.print("nobody was erased")

    tell("erase", entries, as_json=as_json, show=show_entries)


def _as_json(done: Erased, proof: Proof | None, copies: Sequence[Copy]) -> dict[str, Any]:
    return {
        "erasures": [
            {"id": one.id, "state": one.state.value, "is_proved": one.is_proved}
            for one in done.erasures
        ],
        "rows": done.taken.rows,
        "letters": done.taken.letters,
        "files_read": done.taken.files_read,
        "refreshed": done.refreshed,
        "ended": asdict(done.ended),
        "left": done.left,
        "proof": None
        if proof is None
        else {
            "is_clean": proof.is_clean,
            "is_whole": proof.is_whole,
            "found": [asdict(one) for one in proof.scanned.findings],
            "unread": [asdict(one) for one in proof.scanned.unread],
            "scanned": {kind.value: asdict(a) for kind, a in proof.scanned.amounts.items()},
            "how": list(proof.how),
        },
        "copies": [asdict(copy) for copy in copies],
    }
