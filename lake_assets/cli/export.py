"""`lake-assets export`: a topic offloaded into a folder of files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from lake_assets.cli.answer import Problem, Severity, tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, told_to_stop
from lake_assets.errors import ExportError
from lake_assets.export.lines import ExportFormat
from lake_assets.export.run import (
    ExportReport,
    OnProgress,
    PartitionReport,
    Request,
    export_topic,
)
from lake_assets.services.control import locate_broker
from lake_assets.settings.load import load_settings


def export(
    *,
    topic: Annotated[str, typer.Option(help="Which topic.")],
    to: Annotated[str, typer.Option(help="Folder of the files; made if it is not there.")],
    kind: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            help="jsonl: each value is JSON, and a line. framed: each begins with the id of its "
            "registered schema (Avro, JSON, protobuf), and follows its length. protobuf: each is a "
            "message, and follows its length.",
        ),
    ] = "jsonl",
    rows_per_file: Annotated[int, typer.Option(min=1, help="A file has no more.")] = 1_000_000,
    bytes_per_file: Annotated[
        int, typer.Option(min=1, help="A file that has as many is full.")
    ] = 128 * 1024 * 1024,
    allow_gaps: Annotated[
        bool,
        typer.Option(
            "--allow-gaps", help="Go on after records that Kafka deleted before their export."
        ),
    ] = False,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Offload a Kafka topic into a folder, as files that a feed of files reads.

    Takes what there is of the topic, and ends. The next export into the same folder goes on after
    it: each record is in the files once, whatever is killed. Ctrl-C ends it after the file that is
    being written. Brokers are those of the settings.
    """
    request = Request(
        topic=topic,
        folder=_folder(to),
        format=kind,
        rows_per_file=rows_per_file,
        bytes_per_file=bytes_per_file,
        allow_gaps=allow_gaps,
    )
    endpoints, stop = locate_broker(load_settings(home=home, feeds=feeds_folder)), told_to_stop()
    with _bar() as show:
        report = export_topic(endpoints, request, stop=stop.is_set, on_progress=show)
    cut_off = Problem(
        what="export",
        fact="stopped before the end",
        next_step="Run it again to go on",
        severity=Severity.WARNING,
    )
    tell(
        "export",
        _as_json(request, report),
        [] if report.is_whole else [cut_off],
        as_json=as_json,
        show=lambda: _show(request, report),
    )


def _show(request: Request, report: ExportReport) -> None:
    stdout.print(_table(request, report))
    for one in report.partitions:
        for gap in one.gaps:
            text = f"offsets {gap.first:,} to {gap.after - 1:,} of partition {gap.partition} "
            stdout.print(f"{text}were deleted before they were exported", highlight=False)


def _folder(to: str) -> Path:
    if "://" in to:
        step = "Export into a folder of a disk, and copy its files"
        raise ExportError("--to", f"{to} is no folder, and buckets are not written", step)
    return Path(to)


def _table(request: Request, report: ExportReport) -> Table:
    title = escape(f"topic {request.topic} in {request.folder}")
    shown = Table(title=title, title_justify="left")
    for name in ("partition", "from", "to", "rows", "files", "bytes"):
        shown.add_column(name, justify="right")
    for one in report.partitions:
        shown.add_row(str(one.partition), f"{one.first:,}", f"{one.after:,}", *_sums([one]))
    if len(report.partitions) > 1:
        shown.add_section()
        shown.add_row("all", "", "", *_sums(report.partitions))
    return shown


def _sums(parts: Sequence[PartitionReport]) -> tuple[str, str, str]:
    rows, size = sum(one.rows for one in parts), sum(one.size for one in parts)
    return f"{rows:,}", f"{sum(len(one.files) for one in parts):,}", f"{size:,}"


def _as_json(request: Request, report: ExportReport) -> dict[str, object]:
    return {
        "topic": request.topic,
        "folder": str(request.folder),
        "format": request.format,
        "rows": sum(one.rows for one in report.partitions),
        "bytes": sum(one.size for one in report.partitions),
        "is_whole": report.is_whole,
        "partitions": [
            {
                "partition": one.partition,
                "from": one.first,
                "to": one.after,
                "rows": one.rows,
                "bytes": one.size,
                "files": one.files,
                "gaps": [{"from": gap.first, "to": gap.after} for gap in one.gaps],
            }
            for one in report.partitions
        ],
    }


@contextmanager
def _bar() -> Iterator[OnProgress]:
    columns = (TextColumn("exporting"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, due: int) -> None:
            bar.update(task, completed=done, total=due)

        yield show
