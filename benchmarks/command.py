"""The benchmark's command line: its options, and its report as tables, JSON and a chart.

Measuring is `run`'s.
"""

import json
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from benchmarks.chart import draw, ensure_drawable
from benchmarks.cluster import CLUSTER
from benchmarks.cost import COST
from benchmarks.endurance import ENDURANCE
from benchmarks.files import FILES
from benchmarks.floor import FLOOR
from benchmarks.latency import LATENCY
from benchmarks.memory import MEMORY
from benchmarks.peers import USUAL
from benchmarks.refresh import REFRESH
from benchmarks.report import BenchReport
from benchmarks.rest import REST
from benchmarks.run import ALL, run_bench
from benchmarks.scheduled import SCHEDULED
from benchmarks.section import Section
from benchmarks.small import SMALL
from benchmarks.venue import Options
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import JsonOption
from lake_assets.errors import SettingsError
from lake_assets.settings.load import load_settings

_FULL = Options()

_QUICK = Options(
    events=20_000,
    tables=(5,),
    runs=1,
    warm_up=False,
    only=(*USUAL, REFRESH, SMALL, LATENCY),
    history=100_000,
    seconds=15.0,
    rates=(2_000,),
    batches=12,
)


def _usual(full: object, quick: object) -> str:
    """The two defaults, for an option's help."""
    return f"{_in_words(full)}, or with --quick {_in_words(quick)}."


def _in_words(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else f"{value:,}"


app = typer.Typer(name="python -m benchmarks", pretty_exceptions_enable=False, add_completion=False)


@app.command()
def bench(
    *,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help=f"A little of everything but {MEMORY}: whether it works, in minutes."
        ),
    ] = False,
    tables: Annotated[
        str | None,
        typer.Option(
            help="Numbers of games, joined by commas; each has its own topic. "
            + _usual(_FULL.tables, _QUICK.tables),
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help=f"What to measure, joined by commas, of {', '.join(ALL)}; by default all but "
            f"{FILES}, {REST}, {SCHEDULED}, {COST}, {CLUSTER}, {ENDURANCE} and those that compare "
            "expectations or layouts.",
            show_default=False,
        ),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Events in a topic. " + _usual(_FULL.events, _QUICK.events),
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rounds that count; one more comes before them, but not with --quick. "
            + _usual(_FULL.runs, _QUICK.runs),
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Rows of silver that {REFRESH} begins with. "
            + _usual(_FULL.history, _QUICK.history),
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=1,
            help=f"How long {LATENCY}, {FILES} and {COST} measure a rate, and {REST} a case (20 s "
            "at most). " + _usual(_FULL.seconds, _QUICK.seconds),
            show_default=False,
        ),
    ] = None,
    rates: Annotated[
        str | None,
        typer.Option(
            help=f"Events a second that {LATENCY} sends, joined by commas. "
            + _usual(_FULL.rates, _QUICK.rates),
            show_default=False,
        ),
    ] = None,
    batches: Annotated[
        int | None,
        typer.Option(
            min=10,
            help=f"How many batches {SMALL} runs, by default as many as take two or three "
            f"minutes, and {ENDURANCE}, by default an hour's.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File for all figures as JSON.", show_default=False)
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(help="PNG file for the ratios by number of tables.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure our pipeline beside a plain Spark append, N queries, foreachBatch and SDP.

    Figures are medians of several runs, taken in turn with the others'. Look at the ratios first:
    seconds are of this machine. All of it happens in a temporary folder that is removed; services
    that were started for it are stopped. docs/performance.md says what exactly is measured.
    """
    options = {
        "events": events,
        "tables": None if tables is None else _numbers("--tables", tables),
        "runs": runs,
        "only": only and tuple(name.strip() for name in only.split(",")),
        "history": history,
        "seconds": seconds,
        "rates": None if rates is None else _numbers("--rates", rates),
        "batches": batches,
    }
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if chart is not None:
        ensure_drawable()
    stop = _stop_on_signals()
    report = run_bench(
        load_settings(),
        replace(_QUICK if quick else _FULL, **given),
        console=stderr,
        announce=_announce,
        stop=stop.is_set,
    )
    _keep(report, output, chart)
    if as_json:
        print(json.dumps(report.as_json()))
        return
    _show(report)


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


def _numbers(option: str, given: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(number) for number in given.split(",")))
    except ValueError as problem:
        raise SettingsError(
            option, f"{given!r} is not a list of numbers", "Join them by commas: 7,100"
        ) from problem


def _keep(report: BenchReport, output: Path | None, chart: Path | None) -> None:
    """Write the files that were asked for, the figures first: they took long."""
    if output is not None:
        try:
            output.write_text(json.dumps(report.as_json(), indent=2) + "\n")
        except OSError as problem:
            fact = f"{output} cannot be written ({problem.strerror or problem})"
            raise SettingsError("--output", fact, "Name another file") from problem
    if chart is not None and report.ratios():
        draw(report, chart)
    elif chart is not None:
        _announce(f"no chart: it shows the ratios of {FLOOR} and other peers, which did not run")


def _show(report: BenchReport) -> None:
    if report.runs:
        stdout.print(_as_table(report))
    for tables, by_peer in report.files.items():
        files = ", ".join(f"{peer} {n:,}" for peer, n in by_peer.items())
        stdout.print(f"data files with {tables:,} tables: {files}", highlight=False)
    for section in report.sections:
        stdout.print(_as_section(section))
        stdout.print(section.note, highlight=False)
    for note in report.notes:
        stdout.print(note, highlight=False)
    stdout.print(_footnote(report), highlight=False)


def _as_table(report: BenchReport) -> Table:
    titles = ("tables", "x floor", "seconds", "events/s", "runs from to")
    shown = _table("measure", titles)
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
                f"{len(runs)} {min(runs):.2f} {max(runs):.2f}",
            )
        shown.add_section()
    return shown


def _as_section(section: Section) -> Table:
    first, *others = section.columns
    shown = _table(first, others)
    shown.title = section.name
    for row in section.rows:
        cells = (row.get(name) for name in section.columns)
        shown.add_row(*("" if cell is None else _cell(cell) for cell in cells))
    return shown


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(first: str, others: Sequence[str]) -> Table:
    shown = Table(first, box=SIMPLE, pad_edge=False)
    for title in others:
        shown.add_column(title, justify="right", overflow="fold")  # digits are never left out
    return shown


def _footnote(report: BenchReport) -> str:
    machine = report.machine
    return (
        f"{report.events:,} events of {report.value_bytes / report.events:.0f} bytes; "
        f"{machine.cpus} cores, {machine.memory_gb:.0f} GB, load {machine.load_before} at the start"
    )
