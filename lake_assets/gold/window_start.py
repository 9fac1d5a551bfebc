"""Where a key's refresh of a view of windows starts, and which files of silver it has to read.

What is computed from them is `gold.window_job`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lake_assets.delta.added_files import gained_between
from lake_assets.delta.event_times import TimedFile, timed, timed_files
from lake_assets.delta.log_history import last_info
from lake_assets.delta.table_log import log_of
from lake_assets.delta.window_position import WindowPosition
from lake_assets.gold.refresh_plan import Opened
from lake_assets.gold.window_job import CompiledWindows
from lake_assets.gold.windows import Range, is_ahead, range_of
from lake_assets.model.gold_views import Windows
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.read_tables import Contents, are_readable_by_path, contents_of


@dataclass(frozen=True, kw_only=True)
class WindowStart:
    """Where a key's refresh starts."""

    opened: Opened
    why_full: str
    """Empty if it goes on from where it is."""

    position: WindowPosition
    gained: tuple[TimedFile, ...]
    """Files of silver whose rows are new; all of them in full."""

    @property
    def key(self) -> str:
        """Whose it is."""
        return self.opened.source.key

    @cached_property
    def is_readable_by_path(self) -> bool:
        """Whether silver's files hold its rows, all of them; looked at once."""
        return are_readable_by_path(self.opened.silver)


def start_of(
    windows: Windows, one: Opened, context: LakeContext, compiled: CompiledWindows, *, asked: bool
) -> WindowStart:
    """Where a key's refresh starts; `asked` to compute all of it again."""
    source = one.source
    noted = WindowPosition.of(last_info(one.gold)) if one.gold else None
    why = _why_full(one, noted, compiled, asked=asked)
    if not why and source.position is not None:
        silver = log_of(context.lake, source.silver_table)
        upto, reads = source.silver.version, source.columns.may_have
        gained = gained_between(silver, source.position.silver_version, upto, reads)
        if not gained.obstacle:
            files = tuple(timed(file, windows.time, compiled.came) for file in gained.files)
            position = noted or WindowPosition(until=None)
            return WindowStart(opened=one, why_full="", position=position, gained=files)
        why = gained.obstacle
    files = tuple(timed_files(one.silver, windows.time, compiled.came))
    return WindowStart(opened=one, why_full=why, position=WindowPosition(until=None), gained=files)


def _why_full(
    one: Opened, noted: WindowPosition | None, compiled: CompiledWindows, *, asked: bool
) -> str:
    if one.gold is None:
        return "the key's first refresh"
    if asked:
        return "asked for"
    if noted is None:
        return "gold's newest commit is no refresh of this view"
    return one.source.why_full or compiled.changed_columns(one.gold)


def told_of(start: WindowStart, windows: Windows, *, has_arrivals: bool) -> Sequence[TimedFile]:
    """The new files of which the log tells which windows they close.

    It does not of rows that are deleted in files, nor whether a row that seems to be ahead is.
    """
    if start.why_full and not start.is_readable_by_path:
        return ()

    def is_told(file: TimedFile) -> bool:
        if file.bounds is None:
            return not file.has_times
        newest = file.bounds[1]
        closes = not range_of(windows, start.position.until, newest).is_empty
        return not (has_arrivals and closes and is_ahead(windows, newest, file.came))

    return tuple(filter(is_told, start.gained))


def untold_of(
    start: WindowStart, told: Sequence[TimedFile], context: LakeContext
) -> Contents | None:
    """What must be read to tell the newest time."""
    if start.why_full and not start.is_readable_by_path:
        return contents_of([start.opened.silver])
    paths = {each.file.path for each in told}
    untold = [each for each in start.gained if each.file.path not in paths]
    return of_files(start, untold, context) if untold else None


def closing_files(start: WindowStart, windows: Windows, taken: Range) -> list[TimedFile]:
    """Silver's files that may have rows of windows that close."""
    if taken.is_empty:
        return []
    files = timed_files(start.opened.silver, windows.time)
    return [each for each in files if each.has_times and taken.may_have(each.bounds)]


def contents_of_files(
    start: WindowStart, files: Sequence[TimedFile], context: LakeContext
) -> Contents:
    """What is read for files of silver that are there: all of it, if some of their rows are not."""
    if files and not start.is_readable_by_path:
        return contents_of([start.opened.silver])
    return of_files(start, files, context)


def of_files(start: WindowStart, files: Sequence[TimedFile], context: LakeContext) -> Contents:
    """Files of silver, with all their rows."""
    silver = log_of(context.lake, start.opened.source.silver_table)
    return Contents(files=tuple(silver.data_file(each.file.path) for each in files))
