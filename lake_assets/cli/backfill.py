"""`lake-assets backfill`: what a folder has, taken into tables once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from lake_assets.cli.answer import Problem, tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.reports import Waiting
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.streams.backfill import (
    BackfillTally,
    FilesFound,
    ensure_backfillable,
    files_found,
)
from lake_assets.streams.run_feed import run_feed


def backfill(
    *,
    feed: Annotated[str, typer.Option("--feed", help="A feed of files, or of a Delta table.")],
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a folder's old files, or a Delta table's rows, into a feed's tables, and end.

    The feed declares the folder, what is in its files, and with `into` whose tables they go to;
    with `run: manual` nobody else reads them. Takes what there is when it begins, and refreshes the
    views that streams refresh. Each row comes once: a run that was killed goes on where it was, and
    another takes the files that are new. While the lake's streams run, they do it.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    feeds = load_feeds(settings.feeds)
    named = find_feed(feeds, feed)
    ensure_backfillable(named)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tally, is_whole = BackfillTally(feed=named.feed, owner=tables_owner(named)), True
    events = run_feed(
        settings, feeds, named, lambda: control.locate(settings, feeds), owner="backfill"
    )
    with _bar() as show, closing(events):
        try:
            for event in events:
                tally.add(event)
                show(tally)
                if isinstance(event, Waiting):
                    stderr.print(event.reason, markup=False, highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            is_whole = False
    files = files_found(settings, named)
    result = _as_json(named, tally, files, is_whole=is_whole)
    # Whoever deletes the files after it must not.
    cut_off = Problem(what="backfill", fact="stopped before the end", next_step="Run it again")
    problems = [] if is_whole else [cut_off]
    tell("backfill", result, problems, as_json=as_json, show=lambda: _show(named, tally, files))


def _show(feed: Feed, tally: BackfillTally, files: FilesFound) -> None:
    for line in _lines(feed, tally, files):
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(feed: Feed, tally: BackfillTally, files: FilesFound) -> Iterator[str]:
    yield f"{tally.taken:,} rows taken of {feed.source.declared.title}"
    for table, rows in sorted(tally.rows.items()):
        yield f"{table}: {rows:,} rows in"
    for count, what in ((tally.dropped, "dropped"), (tally.duplicates, "duplicates")):
        if count:
            yield f"{what}: {count:,} rows"
    bad = f", {files.bad:,} of them cannot be read" if files.bad else ""
    yield f"{files.found:,} files found so far{bad}"
    for view, late in tally.late.items():
        if late:
            owner = tables_owner(feed)
            yield (
                f"view {view}: {late:,} rows came after their windows were closed; "
                f"`lake-assets rebuild gold --feed {owner}` counts them"
            )


def _as_json(
    feed: Feed, tally: BackfillTally, files: FilesFound, *, is_whole: bool
) -> dict[str, object]:
    return {
        "feed": feed.feed,
        "rows_taken": tally.taken,
        "rows": dict(sorted(tally.rows.items())),
        "dropped": tally.dropped,
        "duplicates": tally.duplicates,
        "late_rows": {view: late for view, late in tally.late.items() if late},
        "files_found": files.found,
        "files_bad": files.bad,
        "is_whole": is_whole,
    }


@contextmanager
def _bar() -> Iterator[Callable[[BackfillTally], None]]:
    columns = (TextColumn("reading files"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(tally: BackfillTally) -> None:
            due = None if tally.left is None else tally.taken + tally.left
            bar.update(task, completed=tally.taken, total=due)

        yield show
