"""A progress bar for downloads; silent without a console, and until a byte is missing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

OnProgress = Callable[[int, int], None]
"""Called with the bytes that landed and the bytes that will."""


@contextmanager
def download_bar(console: Console | None) -> Iterator[OnProgress | None]:
    """Yield what moves the bar; it appears with the first call."""
    if console is None:
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
    )
    task = bar.add_task("Fetching jars", total=None)

    def move(landed: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=landed, total=total)

    try:
        yield move
        if bar.live.is_started:
            bar.update(task, completed=bar.tasks[0].total or 0)
    finally:
        if bar.live.is_started:
            bar.stop()
