"""The chart of a report: what flowed through each fault, how late, and how soon it went on.

For each venue there are two panels over the same time: events a second (what the broker
acknowledged, and what became visible in the lake), and how long the oldest event that was not
visible had waited. Each fault is a band over both. The last panel has a row for each kind of fault.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lake_assets.errors import SettingsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

_WIDTH, _DPI = 11.0, 130

_VENUE_HEIGHT, _KIND_HEIGHT, _FRAME_HEIGHT = 5.4, 0.24, 1.5
"""Inches: of the two panels of a venue, of a row of the last panel, and of what is around those."""

_BINS = 120
"""Of a run: a point for each, since a lake gets its rows in batches, some seconds apart."""

_HEADROOM = 1.2
"""Times the highest value, so that the legend is above it."""

_GREEN, _BLUE, _GREY = "#0a7d5a", "#2f5d8c", "#777777"

_FAMILIES = {
    "kill": ("#b3261e", "killed"),
    "pause": ("#c96a00", "paused"),
    "disk": ("#5b4b9a", "disk"),
    "clock": ("#8a7a00", "clock"),
    "of the": ("#2f5d8c", "network"),
}
"""The first of these words that a fault's name has says which it is; else it is of no family."""

_VENUES = {"disk": ("o", "local disk"), "s3": ("s", "S3"), "cluster": ("^", "cluster, S3")}

_NEVER = "never"


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the chart as PNG.

    Raises:
        SettingsError: there is no matplotlib, the report has no venue, or the file cannot be
            written.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - needed for this alone
    except ModuleNotFoundError as problem:
        fact = "needs matplotlib, which is not installed"
        raise SettingsError("--chart", fact, "Run make setup") from problem
    venues = report["venues"]
    if not venues:
        raise SettingsError("--chart", "has nothing to show", "Run at least one venue")
    kinds = sorted({fault["name"] for venue in venues for fault in venue["faults"]}, reverse=True)
    heights = [_VENUE_HEIGHT] * len(venues) + [_FRAME_HEIGHT + _KIND_HEIGHT * len(kinds)]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    for row, venue in enumerate(venues):
        _draw_venue(figure.add_subfigure(grid[row]), venue)
    _draw_recovery(figure.add_subfigure(grid[-1]).subplots(), venues, kinds)
    figure.suptitle(
        f"Faults of seed {report['seed']}\n"
        "A coloured band is a time in which a fault was on; its name is above it.",
        fontsize=10,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=_DPI)
    except OSError as problem:
        fact = f"{path} cannot be written ({problem.strerror or problem})"
        raise SettingsError("--chart", fact, "Name another file") from problem


def _draw_venue(part: "SubFigure", venue: Mapping[str, Any]) -> None:
    flow, lag = part.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    samples = venue["samples"]
    for column, color, label in (
        ("acked", _GREY, "acknowledged by the broker"),
        ("visible", _GREEN, "visible in the lake"),
    ):
        flow.stairs(*per_second(samples, column), color=color, linewidth=1.4, label=label)
    lag.plot(*_seen(samples), color=_BLUE, linewidth=1.3)
    for axes in (flow, lag):
        axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
        axes.set_ylim(0, axes.get_ylim()[1] * _HEADROOM)
        for fault in venue["faults"]:
            # A band of no width would not be seen.
            end = max(fault["ended"], fault["at"] + 0.5)
            axes.axvspan(fault["at"], end, color=_family(fault["name"])[0], alpha=0.22, linewidth=0)
    last = max((sample["at"] for sample in samples), default=1)
    flow.set_xlim(0, last)
    flow.set_ylabel("events a second")
    lag.set_ylabel("oldest event waits (s)")
    lag.set_xlabel("seconds since the run began")
    _label_faults(flow, venue["faults"], last)
    flow.legend(loc="upper right", fontsize=8, framealpha=0.9, ncols=2)
    _, name = _VENUES.get(venue["venue"], ("o", venue["venue"]))
    part.suptitle(
        f"Lake on {name}: {len(venue['faults'])} faults, {venue['acked']:,} events, "
        f"{venue['lost']} lost, {venue['doubled']} doubled, "
        f"longest outage {venue['longest_outage_s']:.0f} s",
        fontsize=11,
        fontweight="bold",
        x=0.01,
        ha="left",
    )


def _label_faults(axes: "Axes", faults: Sequence[Mapping[str, Any]], last: float) -> None:
    """Write each fault's name above its band, upright, and as far apart as letters are wide."""
    width = last / (_WIDTH * 72 / 9)
    wanted = [(fault["at"] + fault["ended"]) / 2 for fault in faults]
    for fault, at, x in zip(faults, wanted, apart(wanted, width, last), strict=True):
        axes.annotate(
            fault["name"],
            (at, 1),
            xycoords=("data", "axes fraction"),
            xytext=(x, 1.06),
            textcoords=("data", "axes fraction"),
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=6.5,
            color=_family(fault["name"])[0],
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.5, "shrinkA": 0},
        )


def _draw_recovery(axes: "Axes", venues: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> None:
    found = [
        (kinds.index(fault["name"]), fault["recovered_s"], venue["venue"])
        for venue in venues
        for fault in venue["faults"]
    ]
    longest = max((seconds for _, seconds, _ in found if seconds is not None), default=1.0)
    never = longest * 1.12
    for venue in venues:
        marker, label = _VENUES.get(venue["venue"], ("o", venue["venue"]))
        own = [(row, seconds) for row, seconds, of in found if of == venue["venue"]]
        axes.scatter(
            [never if seconds is None else seconds for _, seconds in own],
            [row for row, _ in own],
            c=[_family(kinds[row])[0] for row, _ in own],
            marker=marker,
            s=26,
            alpha=0.75,
            label=label,
        )
    if any(seconds is None for _, seconds, _ in found):
        axes.axvline(never, color="#bbbbbb", linewidth=0.8, linestyle="--")
        axes.text(
            never, 1.01, _NEVER, transform=axes.get_xaxis_transform(), ha="center", fontsize=8
        )
    axes.set_yticks(range(len(kinds)), kinds, fontsize=8)
    for tick, kind in zip(axes.get_yticklabels(), kinds, strict=True):
        tick.set_color(_family(kind)[0])
    axes.set_ylim(-0.7, len(kinds) - 0.3)
    axes.set_xlim(0, never * 1.04)
    axes.grid(visible=True, color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("seconds from the end of a fault until a later event is visible in the lake")
    axes.set_title("Time to recover, by kind of fault", fontsize=11, fontweight="bold", loc="left")
    legend = axes.legend(loc="lower right", fontsize=8, framealpha=0.9)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_color(_GREY)  # type: ignore[attr-defined]


def per_second(
    samples: Sequence[Mapping[str, Any]], column: str, bins: int = _BINS
) -> tuple[list[float], list[float]]:
    """The rates at which a total grew, and the edges of the times they are of.

    A time in which nobody looked adds nothing until the next look, as if it all came then.
    """
    if len(samples) < 2:  # noqa: PLR2004 - a rate is between two
        return [], [0.0]
    last = samples[-1]["at"]
    width = last / bins
    edges = [width * number for number in range(bins + 1)]
    totals, position, total = [], 0, 0
    for edge in edges:
        while position < len(samples) and samples[position]["at"] <= edge:
            total = samples[position][column]
            position += 1
        totals.append(total)
    return [(b - a) / width for a, b in pairwise(totals)], edges


def apart(wanted: Sequence[float], width: float, last: float) -> list[float]:
    """Places near the wanted ones, in their order, at least `width` apart, and before `last`."""
    places: list[float] = []
    for one in wanted:
        places.append(max(one, places[-1] + width) if places else one)
    limit = last
    for number in reversed(range(len(places))):
        places[number] = min(places[number], limit)
        limit = places[number] - width
    return places


def _seen(samples: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Times and lags, with a gap where nobody could look."""
    lags = [float("nan") if sample["blind"] else sample["lag_s"] for sample in samples]
    return [sample["at"] for sample in samples], lags


def _family(name: str) -> tuple[str, str]:
    return next((found for word, found in _FAMILIES.items() if word in name), (_GREY, "other"))
