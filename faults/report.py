"""What a run has found, as JSON and as a page of Markdown; charts are `charts`'.

Times are seconds since the venue's run began. A sample is of a second: `at`, `acked` (events that
the broker has), `visible` (of them, those in silver or quarantine), `lag_s` (how long the oldest
that is not has waited) and `blind` (whether the lake could not be looked at).
"""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import psutil

from faults.reader import DOUBLED, LOST, Finding


@dataclass(slots=True)
class FaultRecord:
    """A fault that was injected."""

    name: str
    what: str
    """What exactly was done."""

    at: float
    ended: float
    recovered_s: float | None
    """From its end to the first row in silver that was acknowledged after it; None if none came."""


@dataclass(slots=True)
class VenueReport:
    """What became of a run of a venue."""

    venue: str
    dagster: bool
    """Whether Dagster ran the streams."""

    seconds: float
    """For which faults began."""

    faults: list[FaultRecord] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """By name, why something was not done."""

    work: list[dict[str, object]] = field(default_factory=list)
    samples: list[dict[str, object]] = field(default_factory=list)
    sent: int = 0
    given_up: int = 0
    """Of the events sent, those that the producer gave up: they may be there or not."""

    acked: int = 0
    silver: int = 0
    quarantine: int = 0
    erased: int = 0
    gold_rows: int = 0
    files: int = 0
    young_files: int = 0
    longest_outage_s: float = 0.0
    orphans: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """What went wrong besides: no recovery, no end, work that failed without a fault."""

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.findings or self.failures or self.orphans)

    def of(self, kind: str) -> int:
        """How many of a kind of finding."""
        return sum(finding.count for finding in self.findings if finding.kind == kind)

    def as_record(self) -> dict[str, Any]:
        """For JSON."""
        counted = {"lost": self.of(LOST), "doubled": self.of(DOUBLED), "is_good": self.is_good}
        return {**asdict(self), **counted}


def as_record(
    venues: Sequence[VenueReport], *, seed: int, minutes: float, began: str, quick: bool
) -> dict[str, Any]:
    """The whole report, for JSON."""
    return {
        "seed": seed,
        "minutes": minutes,
        "quick": quick,
        "began": began,
        "machine": {
            "cpus": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
            "system": platform.system(),
            "kernel": platform.release(),
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("pyspark", "deltalake", "dagster", "pyarrow")},
        },
        "venues": [venue.as_record() for venue in venues],
        "is_good": all(venue.is_good for venue in venues),
    }


def as_markdown(report: Mapping[str, Any]) -> str:
    """The tables of `docs/faults.md`."""
    return "\n".join([*_summary(report), "", *_by_fault(report), "", *_skipped(report)])


_COLUMNS = (
    *("venue", "minutes of faults", "faults", "events acknowledged", "in silver"),
    *("in quarantine", "erased", "lost", "doubled", "other findings", "longest outage"),
)


def _summary(report: Mapping[str, Any]) -> list[str]:
    machine, versions = report["machine"], report["versions"]
    lines = [
        f"Seed {report['seed']}, begun {report['began']}; {machine['cpus']} cores, "
        f"{machine['memory_gb']:.0f} GB, {machine['system']} {machine['kernel']}; "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + ".",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        f"|---|{'---:|' * (len(_COLUMNS) - 1)}",
    ]
    for one in report["venues"]:
        by = " (Dagster)" if one["dagster"] else ""
        other = (
            len(one["failures"])
            + len(one["orphans"])
            + sum(
                finding["count"]
                for finding in one["findings"]
                if finding["kind"] not in {LOST, DOUBLED}
            )
        )
        lines.append(
            f"| {one['venue']}{by} | {one['seconds'] / 60:.1f} | {len(one['faults'])} "
            f"| {one['acked']:,} | {one['silver']:,} | {one['quarantine']:,} | {one['erased']:,} "
            f"| {one['lost']} | {one['doubled']} | {other} | {one['longest_outage_s']:.0f} s |"
        )
    return lines


def _by_fault(report: Mapping[str, Any]) -> list[str]:
    """Seconds until rows flowed, by fault and venue; several where it came several times."""
    venues = [venue["venue"] for venue in report["venues"]]
    times: dict[str, dict[str, list[str]]] = {}
    for venue in report["venues"]:
        for fault in venue["faults"]:
            seconds = fault["recovered_s"]
            words = "never" if seconds is None else f"{seconds:.0f}"
            times.setdefault(fault["name"], {}).setdefault(venue["venue"], []).append(words)
    columns = (f"{venue}: rows flow after (s)" for venue in venues)
    lines = [f"| fault | {' | '.join(columns)} |", f"|---|{'---|' * len(venues)}"]
    for name, by_venue in sorted(times.items()):
        cells = (", ".join(by_venue.get(venue, [])) for venue in venues)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _skipped(report: Mapping[str, Any]) -> list[str]:
    found = {
        f"- {name} ({venue['venue']}): {reason}"
        for venue in report["venues"]
        for name, reason in venue["skipped"].items()
    }
    return ["Skipped:", "", *sorted(found)] if found else ["Nothing was skipped."]
