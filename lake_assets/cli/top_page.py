"""The page of `lake-assets top`: what streams say of themselves, as tables."""

from collections.abc import Mapping
from datetime import UTC, datetime

from rich import box
from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from lake_assets.maintenance.activity import Activity
from lake_assets.metrics.snapshot import FeedLine, Snapshot, StageLine, ViewLine

_LATE_S = 30.0
"""Seconds of lag that are shown in yellow; ten times as much in red."""


def page(
    found: Snapshot,
    maintenance: Mapping[str, Activity],
    about: str,
    stops: Mapping[str, str] | None = None,
) -> Group:
    """The whole page.

    Args:
        found: the streams.
        maintenance: by feed.
        about: which lake, and who was asked.
        stops: by feed whose stream somebody stopped, who, in words.
    """
    stopped = stops or {}
    parts: list[RenderableType] = [_head(found, about), _feeds(found.feeds, stopped)]
    parts += [
        Text(f"{feed}: stopped deliberately {who}", style="yellow") for feed, who in stopped.items()
    ]
    parts += [Text(f"{about}: {why}", style="red") for about, why in _problems(found)]
    parts += [Text(told, style="dim") for feed in found.feeds if (told := _next_run(feed))]
    if found.views:
        parts.append(_views(found.views))
    parts.append(_machine(found))
    parts.append(_upkeep(maintenance))
    return Group(*parts)


def _head(found: Snapshot, about: str) -> Text:
    rows = sum(feed.demux.rows_per_s for feed in found.feeds)
    is_well = not _problems(found)
    return Text.assemble(
        ("streams ready" if is_well else "streams not ready", "green" if is_well else "red"),
        f"  up {duration(found.up_s)}  {rows:,.0f} rows/s  ",
        (about, "dim"),
    )


def _problems(found: Snapshot) -> list[tuple[str, str]]:
    of_feeds = [(feed.feed, feed.problem) for feed in found.feeds if feed.problem]
    return [*of_feeds, *found.problems.items()]


def _feeds(feeds: tuple[FeedLine, ...], stopped: Mapping[str, str]) -> Table:
    table = _table("feed", "stage")
    for title in ("rows/s", "batches/s", "job", "commit", "lag rows", "lag", "quarantine"):
        table.add_column(title, justify="right", no_wrap=True)
    for feed in feeds:
        # Of one with a schedule, or that was stopped, rows wait: nothing is late.
        is_lag_news = feed.next_run_s is None and feed.feed not in stopped
        stages = [_stage(s, is_lag_news=is_lag_news) for s in (feed.ingest, feed.demux)]
        table.add_row(feed.feed, "ingest", *stages[0], "")
        share = Text(f"{feed.quarantine_share:.1%}", style="red" if feed.quarantine_share else "")
        table.add_row("", "demux", *stages[1], share)
    return table


def _next_run(feed: FeedLine) -> str:
    if feed.next_run_s is None:
        return ""
    runs = "" if feed.quiet_s is None else "runs now; "
    return f"{feed.feed}: {runs}next run in {duration(feed.next_run_s)}"


def _stage(stage: StageLine, *, is_lag_news: bool) -> tuple[RenderableType, ...]:
    return (
        f"{stage.rows_per_s:,.0f}",
        f"{stage.batches_per_s:.1f}",
        _seconds(stage.phases.get("job")),
        _seconds(stage.phases.get("commit")),
        "?" if stage.lag_rows is None else f"{stage.lag_rows:,.0f}",
        _lag(stage.lag_s, is_news=is_lag_news),
    )


def _lag(seconds: float | None, *, is_news: bool) -> Text:
    if seconds is None:
        return Text("?")
    if not is_news:
        return Text(duration(seconds))
    late = "red" if seconds > 10 * _LATE_S else "yellow" if seconds > _LATE_S else ""
    return Text(duration(seconds), style=late)


def _views(views: tuple[ViewLine, ...]) -> Table:
    table = _table("view")
    for title in ("age", "took", "incremental", "full", "failed", "running for"):
        table.add_column(title, justify="right", no_wrap=True)
    for view in views:
        table.add_row(
            f"{view.feed}.{view.view}",
            "-" if view.age_s is None else duration(view.age_s),
            _seconds(view.last_s),
            f"{view.ways.get('incremental', 0):,.0f}",
            f"{view.ways.get('full', 0):,.0f}",
            Text(f"{view.failures:,.0f}", style="red" if view.failures else ""),
            duration(view.refreshing_s) if view.refreshing_s else "",
        )
    return table


def _machine(found: Snapshot) -> Text:
    by_process = ", ".join(
        f"{process.replace('_', ' ')} {decimal(int(size))}"
        for process, size in sorted(found.memory.items())
    )
    memory = decimal(int(sum(found.memory.values()))) if found.memory else "?"
    text = f"memory {memory}" + (f" ({by_process})" if by_process else "")
    if found.disk_free is not None and found.disk_size:
        share = found.disk_free / found.disk_size
        text += f"   disk {decimal(int(found.disk_free))} free ({share:.0%})"
    return Text(text)


def _upkeep(maintenance: Mapping[str, Activity]) -> Text:
    told = [f"{feed} {_activity(activity)}" for feed, activity in maintenance.items()]
    return Text("maintenance: " + ("; ".join(told) or "no feeds"))


def _activity(activity: Activity) -> str:
    if activity.is_running:
        return "runs"
    if activity.last_ended_at is None:
        return "never ran"
    ago = (datetime.now(UTC) - activity.last_ended_at).total_seconds()
    return f"{duration(ago)} ago"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for title in columns:
        table.add_column(title, no_wrap=True)
    return table


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds)


def duration(seconds: float) -> str:
    """A time as people read it: `0.24 s`, `12 s`, `3 min`, `5.1 h`, `2.5 d`."""
    for limit, unit, size in ((10, "s", 1), (100, "s", 1), (5400, "min", 60), (172_800, "h", 3600)):
        if seconds < limit:
            digits = 2 if limit == 10 else 1 if unit == "h" else 0  # noqa: PLR2004 - of seconds
            return f"{max(0.0, seconds) / size:.{digits}f} {unit}"
    return f"{seconds / 86_400:.1f} d"
