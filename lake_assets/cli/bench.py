"""`lake-assets bench`: how fast the road is on this machine."""

import json
import signal
import threading
from typing import Annotated

import typer
from rich.table import Table

from lake_assets.bench.floor import FLOOR
from lake_assets.bench.peers import MEASURES, USUAL
from lake_assets.bench.report import BenchReport
from lake_assets.bench.run import Options, run_bench
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import JsonOption
from lake_assets.errors import SettingsError
from lake_assets.settings.load import load_settings

_EVENTS = 2_000_000
"""Less, and a query's start is most of its time; more says the same and takes longer."""

_QUICK_EVENTS = 200_000


def bench(
    *,
    events: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Events in the topic; {_EVENTS:,}, or with --quick {_QUICK_EVENTS:,}.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer events: rough figures in a minute or two.")
    ] = False,
    tables: Annotated[
        str, typer.Option(help="Numbers of games, joined by commas; each has its own topic.")
    ] = "7",
    runs: Annotated[
        int, typer.Option(min=1, help="Rounds that count; one more comes before them.")
    ] = 3,
    only: Annotated[
        str | None,
        typer.Option(
            help=f"What to measure, joined by commas, of {', '.join(MEASURES)}; by default "
            f"{', '.join(USUAL)}.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure each hop's events a second beside a plain Spark append of the same topic.

    Figures are medians of several runs, taken in turn with the others'. Look at the ratios first:
    seconds are of this machine. All of it happens in a temporary folder that is removed; services
    that were started for it are stopped. docs/performance.md says what exactly is measured.
    """
    options = Options(
        events=events or (_QUICK_EVENTS if quick else _EVENTS),
        tables=_numbers(tables),
        runs=runs,
        only=tuple(name.strip() for name in only.split(",")) if only else USUAL,
    )
    stop = _stop_on_signals()
    report = run_bench(
        load_settings(), options, console=stderr, announce=_announce, stop=stop.is_set
    )
    if as_json:
        print(json.dumps(report.as_json()))
        return
    stdout.print(_as_table(report))
    stdout.print(_footnote(report), highlight=False)


def _stop_on_signals() -> threading.Event:
    """Set by the first Ctrl-C, so that everything is put away; a second one ends all at once."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def end(_signal: int, _frame: object) -> None:
        stop.set()
        for number in signals:
            signal.signal(number, signal.default_int_handler)
        stderr.print("stopping after the query in hand …")

    for number in signals:
        signal.signal(number, end)
    return stop


def _announce(text: str) -> None:
    stderr.print(f"[dim]{text}[/dim]", highlight=False)


def _numbers(given: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(number) for number in given.split(",")))
    except ValueError as problem:
        raise SettingsError(
            "--tables", f"{given!r} is not a list of numbers", "Join them by commas: 7,100"
        ) from problem


def _as_table(report: BenchReport) -> Table:
    shown = Table("measure")
    for title in ("tables", "times the floor", "seconds", "events/s", "fastest and slowest run"):
        shown.add_column(title, justify="right")
    for tables, by_measure in report.runs.items():
        for measure, runs in by_measure.items():
            ratio = report.ratio(measure, tables)
            seconds = report.seconds(measure, tables)
            shown.add_row(
                measure,
                "1" if measure == FLOOR else f"{tables:,}",
                "?" if ratio is None else f"{ratio:.2f}",
                f"{seconds:.2f}",
                f"{report.events / seconds:,.0f}",
                f"{min(runs):.2f} {max(runs):.2f}",
            )
        shown.add_section()
    return shown


def _footnote(report: BenchReport) -> str:
    machine = report.machine
    return (
        f"{report.events:,} events of {report.value_bytes / report.events:.0f} bytes; "
        f"{machine.cpus} cores, {machine.memory_gb:.0f} GB, load {machine.load_before} at the start"
    )
