"""The chart of a report: how many times the floor each peer takes, by number of tables."""

from importlib.util import find_spec
from pathlib import Path

from benchmarks.report import BenchReport
from lake_assets.errors import SettingsError

_LEFT_OUT = ("ingest", "declarative-pipelines-start")
"""Measures that are part of another's line, or nearly the same."""

_WIDTH, _HEIGHT, _DPI = 8.0, 5.0, 150

_STYLES = {
    "demux": ("#0a7d5a", "o", "ours: demux"),
    "ingest+demux": ("#0a7d5a", "s", "ours: ingest + demux"),
    "foreach-batch": ("#c96a00", "^", "one query, foreachBatch, N writes"),
    "n-queries": ("#b3261e", "v", "N streaming queries"),
    "declarative-pipelines": ("#5b4b9a", "D", "Spark Declarative Pipelines (with N views)"),
}


def ensure_drawable() -> None:
    """Make sure that there is something to draw with, before anything is measured.

    Raises:
        SettingsError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise SettingsError("--chart", "needs matplotlib, which is not installed", "Run make setup")


def draw(report: BenchReport, path: Path) -> None:
    """Write the chart as PNG; both axes are logarithmic, and lower is better.

    Raises:
        SettingsError: the report has no ratio to the floor, or the file cannot be written.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - needed for this alone
    from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: PLC0415

    lines = {name: by for name, by in report.ratios().items() if name not in _LEFT_OUT}
    if not lines:
        raise SettingsError(
            "--chart", "has nothing to show", "Measure the floor and some other peer"
        )
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(1, color="#555555", linestyle="--", linewidth=1)
    axes.annotate(
        "the floor: Spark appends the topic to one table",
        (0.01, 1),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        ha="left",
        va="top",
        color="#555555",
        fontsize=8,
    )
    for name, by_tables in lines.items():
        color, marker, label = _STYLES.get(name, ("#777777", ".", name))
        at = sorted(by_tables)
        axes.plot(at, [by_tables[n] for n in at], marker=marker, color=color, label=label)
        last = at[-1]
        axes.annotate(
            f"{by_tables[last]:.3g}",
            (last, by_tables[last]),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontsize=9,
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="tables",
        ylabel="times the floor's time (lower is better)",
        title=f"{report.events:,} events from Kafka into N tables, {report.machine.cpus} cores",
    )
    tables = sorted({n for by_tables in lines.values() for n in by_tables})
    axes.set_xticks(tables, [f"{n:,}" for n in tables])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.margins(x=0.12, y=0.12)
    axes.legend(loc="upper left", fontsize=8, frameon=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=_DPI)
    except OSError as problem:
        fact = f"{path} cannot be written ({problem.strerror or problem})"
        raise SettingsError("--chart", fact, "Name another file") from problem
