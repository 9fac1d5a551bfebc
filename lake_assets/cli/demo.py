"""`lake-assets demo`: everything at once, to look at or to check an installation."""

import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lake_assets.cli.answer import ExitCode, Problem, tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, folder
from lake_assets.cli.tables import overview_table
from lake_assets.demo.live import Snapshot, run_live
from lake_assets.demo.once import OnceReport, run_once
from lake_assets.demo.setup import Options
from lake_assets.errors import UsageError
from lake_assets.model.tables import EVERY_KEY, Layer, bronze_of, quarantine_of
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings

_RATE = 200.0
"""Events a second of the live demo: enough to see rows move, little enough for an old laptop."""

_ONCE_EVENTS = 100_000

_SHOW_EVERY_S = 3.0


def demo(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Without Dagster's page: run the whole pipeline and end.")
    ] = False,
    events: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Events in all. By default until Ctrl-C; with --once {_ONCE_EVENTS:,}.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", help="Only this game; may be given again.", show_default="seven"),
    ] = None,
    versions: Annotated[
        int, typer.Option(min=1, help="Schema versions that come up; each adds a column.")
    ] = 2,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help=f"Events a second. By default {_RATE:.0f}; with --once as fast as possible.",
            show_default=False,
        ),
    ] = None,
    lake: Annotated[
        Path | None,
        typer.Option(
            "--lake",
            parser=folder,
            metavar="<path>",
            help="Folder or bucket of the tables.",
            show_default="LAKE_ASSETS_LAKE, or <home>/lake; with --once a temporary one",
        ),
    ] = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start Kafka, a registry, a simulator of games and Dagster, and watch the tables fill.

    Ctrl-C stops all that was started. Started again, it goes on where it was. With --once it
    produces, streams until caught up, refreshes gold, runs the checks, shows what is in each
    table, and ends: with 4 if gold of a game is held up by a check.
    """
    names = tuple(key or ())
    if as_json and not once:
        fact = "goes with --once, since the live demo ends with Ctrl-C"
        raise UsageError("--json", fact, "Add --once, or ask `lake-assets status --json` meanwhile")
    if once:
        folder = lake or _temporary(load_settings(home=home, feeds=feeds_folder))
        options = Options(games=names, versions=versions, events=events or _ONCE_EVENTS, rate=rate)
        settings = load_settings(
            home=home, lake=folder, feeds=feeds_folder, is_temporary=lake is None
        )
        report = run_once(settings, options, console=stderr, announce=_announce_phase)
        show_once(report, folder, as_json=as_json)
        return
    options = Options(games=names, versions=versions, events=events, rate=rate or _RATE)
    _watch(options, load_settings(home=home, lake=lake, feeds=feeds_folder))


def _temporary(configured: Settings) -> Path:
    """A folder for tables that nobody named, and a word if somebody named another lake."""
    folder = Path(tempfile.mkdtemp(prefix="lake_assets-"))
    named = {"LAKE_ASSETS_LAKE": configured.lake, "LAKE_ASSETS_STATE": configured.state}
    unused = " and ".join(name for name, place in named.items() if place is not None)
    if unused:
        is_not = "are not" if " and " in unused else "is not"
        words = f"{unused} {is_not} used: the tables go to {folder}; --lake names another"
        stderr.print(words, highlight=False, soft_wrap=True)
    return folder


def _announce_phase(name: str) -> None:
    stderr.print(f"[dim]{name} …[/dim]")


def _watch(options: Options, settings: Settings) -> None:
    stop = threading.Event()

    def end(_signal: int, _frame: object) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    stderr.print("starting Kafka, the schema registry and Dagster; the first time takes a minute …")
    with Live(console=stdout, auto_refresh=False) as live:
        urls: list[str] = []

        def show(snapshot: Snapshot) -> None:
            if not urls:
                urls.append(snapshot.url)
                stdout.print(f"Dagster: {snapshot.url}   (Ctrl-C stops everything)")
                if not stdout.is_terminal:
                    sys.stdout.flush()
            live.update(_as_table(snapshot), refresh=True)
            if not stdout.is_terminal:
                stdout.print(_as_line(snapshot), highlight=False, soft_wrap=True)
                sys.stdout.flush()

        run_live(
            settings,
            options,
            console=stderr,
            stop=stop,
            show=show,
            every_s=_SHOW_EVERY_S,
        )
    if not stdout.is_terminal:
        stdout.line()  # after the last table, which Live ends without one there
    stderr.print("stopped; started again, it goes on where it was")


def _as_table(snapshot: Snapshot) -> Group:
    shown = Table("feed", "key")
    for title in ("silver rows", "gold rows", "last refresh (UTC)"):
        shown.add_column(title, justify="right")
    for row in snapshot.keys:
        when = f"{row.refreshed_at:%H:%M:%S}" if row.gold_rows and row.refreshed_at else "-"
        shown.add_row(row.feed, row.key, f"{row.silver_rows:,}", f"{row.gold_rows:,}", when)
    return Group(Text(_as_line(snapshot)), shown)


def _as_line(snapshot: Snapshot) -> str:
    lag = "?" if snapshot.lag_rows is None else f"{snapshot.lag_rows:,}"
    silver = sum(row.silver_rows for row in snapshot.keys)
    gold = sum(row.gold_rows for row in snapshot.keys)
    return (
        f"produced {snapshot.produced:,} · bronze {snapshot.bronze_rows:,} · silver {silver:,} · "
        f"gold {gold:,} · quarantined {snapshot.quarantined:,} · lag {lag} · "
        f"streams {snapshot.streams}"
    )


def show_once(report: OnceReport, folder: Path, *, as_json: bool) -> None:
    """Print what a demo did, and where its tables are: they stay there.

    Raises:
        typer.Exit: gold of a game is held up.
    """
    held = [
        Problem(
            what=f"gold of {'views over all games' if scope == EVERY_KEY else scope}",
            fact=f"is left as it is: {reason}",
            exit_code=ExitCode.BLOCKED,
        )
        for scope, reason in report.held.items()
    ]
    tell("demo", _as_json(report), held, as_json=as_json, show=lambda: _show(report, folder))


def _show(report: OnceReport, folder: Path) -> None:
    stdout.print(overview_table(report.tables))
    for (game, name), judged in sorted(report.judged.items(), key=lambda item: item[0][::-1]):
        if judged.violated:
            stdout.print(f"check {name} of {game}: {judged.violated:,} of {judged.seen:,} violate")
    passed = sum(not judged.violated for judged in report.judged.values())
    stdout.print(f"{passed} of {len(report.judged)} checks hold for every row", highlight=False)
    phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in report.seconds.items())
    stdout.print(f"{report.produced:,} events; seconds: {phases}", highlight=False, soft_wrap=True)
    stdout.print(f"the tables are in {folder}", markup=False, highlight=False, soft_wrap=True)


def _as_json(report: OnceReport) -> dict[str, object]:
    return {
        "produced": report.produced,
        "bronze": report.rows(bronze_of(report.feed)),
        "silver": report.by_game(Layer.SILVER),
        "gold": report.by_game(Layer.GOLD),
        "quarantined": report.rows(quarantine_of(report.feed)),
        "dropped": report.dropped,
        "held": report.held,
        "checks": {
            f"{name}/{game}": {"seen": judged.seen, "violated": judged.violated}
            for (game, name), judged in sorted(report.judged.items())
        },
        "paths": {table.table.name: str(table.path) for table in report.tables},
        "seconds": report.seconds,
    }
