"""The suite's command line: its options, and its report as JSON, a chart and a page."""

import json
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from faults.report import VenueReport, as_markdown, as_record
from faults.run import Run, run_venue
from faults.stack import VENUES, Asked, Log, Venue
from lake_assets.cli.console import stderr, stdout
from lake_assets.errors import SettingsError

_QUICK_S = 50.0
"""Of faults; what is around them takes as long again."""

app = typer.Typer(name="python -m faults", pretty_exceptions_enable=False, add_completion=False)


@app.command()
def faults(
    *,
    minutes: Annotated[float, typer.Option(min=0.1, help="Of faults, in all.")] = 30.0,
    seed: Annotated[
        int | None,
        typer.Option(help="Fixes kinds, order and pauses of faults.", show_default="a new one"),
    ] = None,
    venue: Annotated[
        str | None,
        typer.Option(
            help=f"Where the lake is: {', '.join(VENUES)}.", show_default="one after the other"
        ),
    ] = None,
    dagster: Annotated[
        bool | None,
        typer.Option(
            "--dagster/--no-dagster",
            help="Whether Dagster runs the streams on disk.",
            show_default="not with --quick",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A handful of faults on a disk, in a minute or two.")
    ] = False,
    rate: Annotated[float, typer.Option(min=1, help="Events a second.")] = 100.0,
    output: Annotated[
        Path | None, typer.Option(help="Write the report as JSON.", show_default=False)
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw lag and throughput.", show_default=False)
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write its tables as Markdown.", show_default=False)
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep logs and journal in this folder.", show_default=False),
    ] = None,
) -> None:
    """Load a lake, break what it runs on, and count what came of each event.

    Ends with code 1 if an event was lost or doubled, or anything else was found.
    """
    # Whoever ends it by a signal leaves no server behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = secrets.randbelow(10**6) if seed is None else seed
    venues = _venues(venue, quick=quick)
    given = f"--seed {seed} --minutes {minutes:g}" + (" --quick" if quick else "")
    stderr.print(f"python -m faults {given}", highlight=False)
    asked = _Asked(
        seed=seed,
        seconds=_QUICK_S if quick else minutes * 60 / len(venues),
        quick=quick,
        dagster=not quick if dagster is None else dagster,
        rate=rate,
    )
    began = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    reports = [_run(one, asked, keep) for one in venues]
    record = as_record(reports, seed=seed, minutes=minutes, began=began, quick=quick)
    if output is not None:
        output.write_text(json.dumps(record, indent=1))
    if chart is not None:
        _draw(record, chart)
    if page is not None:
        page.write_text(as_markdown(record) + "\n")
    _tell(reports)
    if not record["is_good"]:
        sys.exit(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    seed: int
    seconds: float
    quick: bool
    dagster: bool
    rate: float


def _venues(given: str | None, *, quick: bool) -> Sequence[Venue]:
    if given is None:
        return VENUES[:1] if quick else VENUES
    found = [venue for venue in VENUES if venue == given]
    if not found:
        raise SettingsError("--venue", f"{given!r} is none", f"Use one of {', '.join(VENUES)}")
    return found


def _run(venue: Venue, given: _Asked, keep: Path | None) -> VenueReport:
    folder = Path(tempfile.mkdtemp(prefix=f"faults-{venue}-"))
    asked = Asked(
        venue=venue,
        folder=folder,
        run=uuid4().hex[:12],
        seed=given.seed,
        dagster=given.dagster and venue == "disk",
    )
    run = Run(asked=asked, seconds=given.seconds, quick=given.quick, rate=given.rate)
    log = Log(folder / "run.log")
    log(f"{venue}: in {folder}")
    began, report = time.monotonic(), None
    try:
        report = run_venue(run, log)
    finally:
        log(f"{venue}: took {time.monotonic() - began:.0f} s")
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            for one in (*folder.glob("*.log"), *folder.glob("*.jsonl")):
                shutil.copy(one, keep / f"{venue}-{one.name}")
        shutil.rmtree(folder, ignore_errors=True)
    return report


def _draw(record: dict[str, object], chart: Path) -> None:
    from faults.charts import draw  # noqa: PLC0415 - matplotlib, which nothing else needs

    draw(record, chart)


def _tell(reports: Sequence[VenueReport]) -> None:
    for one in reports:
        faults = f"{len(one.faults)} faults, {one.acked:,} events acknowledged"
        stdout.print(
            f"{one.venue}: {faults}, lost {one.of('lost')}, doubled {one.of('doubled')}, "
            f"longest outage {one.longest_outage_s:.0f} s",
            highlight=False,
        )
        for line in (*one.failures, *(f"left behind: {orphan}" for orphan in one.orphans)):
            stdout.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
        for finding in one.findings:
            words = f"  {finding.kind}: {finding.count}, such as {'; '.join(finding.examples)}"
            stdout.print(words, markup=False, highlight=False, soft_wrap=True)
