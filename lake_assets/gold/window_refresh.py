"""Refreshing views of windows: each closed window's rows are added once, and stay as they are.

Which windows are closed is told by silver's rows alone (`gold.windows`), as far as the log's
statistics tell it, so a refresh that closes none reads no data file. One that closes some reads
those files of silver that may have rows of theirs, in one Spark job for all keys.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import rows_of
from lake_assets.delta.refresh_position import STATE_FORMAT
from lake_assets.delta.table_owners import claim
from lake_assets.delta.window_position import WindowPosition
from lake_assets.gold.keys_behind import Phases, keys_behind
from lake_assets.gold.refresh_need import info_of
from lake_assets.gold.usable_tables import ensure_refreshable
from lake_assets.gold.window_job import (
    CompiledWindows,
    KeyWindows,
    WindowResult,
    compile_windows,
    compute_windows,
    newest_times,
)
from lake_assets.gold.window_start import (
    WindowStart,
    closing_files,
    contents_of_files,
    of_files,
    start_of,
    told_of,
    untold_of,
)
from lake_assets.gold.windows import LateRows, range_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView, Windows
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import Mode, RefreshReport, ViewRefresh
from lake_assets.spark.columns_of_keys import columns_of_keys
from lake_assets.spark.lake_context import LakeContext

_JOIN_AT = 16
"""Small files of a view at which they become one, with the rows of the windows that close."""

_SMALL_ROWS = 100_000
"""Rows of a file that is not small any more."""


def refresh_windows(  # noqa: PLR0913 - where, what, and which of it
    session: SparkSession,
    feed: Feed,
    view: GoldView,
    keys: Sequence[str],
    context: LakeContext,
    blocked: Mapping[str, str] | None = None,
    *,
    full_refresh: bool = False,
) -> RefreshReport:
    """Bring a view of windows up to date, as `gold.refresh.refresh` does one without.

    Raises:
        CommitConflictError: somebody else changed a gold table meanwhile.
        ExpectationFailedError: rows violate an expectation of the view that fails; no key of the
            view is changed.
        FeedError: silver has no such time, or a key, a measure or an expectation of the view does
            not compile.
        LakeError: the lake cannot be read or written.
        TableOwnedError: a key's table is there, and is another feed's, key's or view's.
    """
    if view.windows is None:
        raise ValueError(view.name)
    phases = Phases()
    for key in keys:
        claim(context.lake, feed.gold_table(view, key), owner_of_view(feed, view.name, key))
    behind = keys_behind(feed, view, keys, context, blocked or {}, full_refresh=full_refresh)
    rest = behind.rest
    if not rest:
        return behind.report()
    ensure_refreshable((each.silver for each in rest), (each.gold for each in rest))
    silver = columns_of_keys(context.lake, feed, [each.silver for each in rest])
    compiled = compile_windows(session, feed, view, silver)
    starts = [start_of(view.windows, each, context, compiled, asked=full_refresh) for each in rest]
    work = _work(session, view.windows, compiled, starts, context)
    phases.end("plan")
    result = compute_windows(session, compiled, work, context)
    phases.end("job")
    done = [(start, one, result) for start, one in zip(starts, work, strict=True)]
    _commit(feed, view, compiled, done, context)
    phases.end("commit")
    return behind.report([_report(view, *one) for one in done], result.judged, phases.seconds)


def _work(
    session: SparkSession,
    windows: Windows,
    compiled: CompiledWindows,
    starts: Sequence[WindowStart],
    context: LakeContext,
) -> list[KeyWindows]:
    """What each key reads, and of which times."""
    has_arrivals = compiled.came is not None
    told = {start.key: told_of(start, windows, has_arrivals=has_arrivals) for start in starts}
    untold = {
        start.key: contents
        for start in starts
        if (contents := untold_of(start, told[start.key], context))
    }
    read = newest_times(session, compiled, untold)
    work = []
    for start in starts:
        newest = read.get(start.key)
        times = [each.bounds[1] for each in told[start.key] if each.bounds is not None]
        times += [newest.believed] if newest else []
        taken = range_of(windows, start.position.until, max(times, default=None))
        closing = closing_files(start, windows, taken)
        late = [f for f in start.gained if f.has_times and taken.may_be_late(f.bounds)]
        work.append(
            KeyWindows(
                key=start.key,
                table=start.opened.source.gold_table,
                taken=taken,
                closing=contents_of_files(start, closing, context),
                late=of_files(start, [] if start.why_full else late, context),
                rows_read=sum(each.file.rows for each in closing),
                joined=_joined(start) if closing else (),
                rows_ahead=newest.rows_ahead if newest else 0,
            )
        )
    return work


def _joined(start: WindowStart) -> tuple[DataFile, ...]:
    """Files of the view that become one with the rows that come."""
    if start.why_full or start.opened.gold is None:
        return ()
    small = [file for file in active_files(start.opened.gold) if file.rows < _SMALL_ROWS]
    return tuple(small) if len(small) >= _JOIN_AT else ()


def _commit(
    feed: Feed,
    view: GoldView,
    compiled: CompiledWindows,
    done: Sequence[tuple[WindowStart, KeyWindows, WindowResult]],
    context: LakeContext,
) -> None:
    new = {
        one.table: owner_of_view(feed, view.name, one.key)
        for start, one, _ in done
        if start.opened.gold is None
    }
    context.committer.create(dict.fromkeys(new, compiled.columns), owners=new)
    full = [_commit_of(*each) for each in done if each[0].why_full]
    context.committer.replace(full, compiled.columns)
    context.committer.replace_files([_commit_of(*each) for each in done if not each[0].why_full])


def _commit_of(start: WindowStart, one: KeyWindows, result: WindowResult) -> Commit:
    source, late = start.opened.source, result.late.get(one.key)
    position = WindowPosition(until=one.taken.until, late_rows=_late_in_all(start, late))
    info = info_of(source.definition, source.silver, states=STATE_FORMAT)
    return Commit(
        table=one.table,
        files=result.files.get(one.key, ()),
        removed=one.joined,
        info=info | position.info,
        seen=source.gold_version,
    )


def _report(
    view: GoldView, start: WindowStart, one: KeyWindows, result: WindowResult
) -> ViewRefresh:
    files, late = result.files.get(one.key, ()), result.late.get(one.key)
    had = start.opened.gold if not start.why_full else None
    written, joined = sum(file.rows for file in files), sum(file.rows for file in one.joined)
    words = [start.why_full or _gain(start, one), late.words if late else "", _ahead(view, one)]
    return ViewRefresh(
        key=one.key,
        view=view.name,
        rows=written - joined + (rows_of(had) if had else 0),
        silver_version=start.opened.source.silver.version,
        files=len(files) - len(one.joined) + (len(active_files(had)) if had else 0),
        mode=Mode.FULL if start.why_full else Mode.INCREMENTAL,
        why="; ".join(filter(None, words)),
        rows_read=one.rows_read,
        rows_written=written,
        late_rows=late.rows if late else 0,
        late_rows_in_all=_late_in_all(start, late),
    )


def _ahead(view: GoldView, one: KeyWindows) -> str:
    if not one.rows_ahead or view.windows is None:
        return ""
    rows = f"{one.rows_ahead} rows say times" if one.rows_ahead > 1 else "1 row says a time"
    return f"{rows} more than {view.windows.ahead} after it came, and closes no window by it"


def _late_in_all(start: WindowStart, late: LateRows | None) -> int:
    return start.position.late_rows + (late.rows if late else 0)


def _gain(start: WindowStart, one: KeyWindows) -> str:
    files = len(start.gained)
    gained = f"silver gained {files} file{'' if files == 1 else 's'} since"
    return f"{gained}, and no window closed" if one.taken.is_empty else gained
