"""Ending the history of tables that rows were erased from, as far as nobody works with it."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from lake_assets.delta.history_end import OldFile, end_history
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.files import is_locked
from lake_assets.streams.noted_changes import noted_texts

_YOUNG_S = 3600.0
"""Seconds for which a file that no commit names may be that of a job that runs."""


@dataclass(kw_only=True, slots=True)
class Ended:
    """What ended."""

    tables: list[str] = field(default_factory=list)
    files: int = 0
    """Data files that were deleted."""

    size: int = 0
    """Bytes of them."""

    left: list[str] = field(default_factory=list)
    """In words, what may tell of older versions still, and why."""


def end_histories(
    settings: Settings,
    context: LakeContext,
    feeds: Sequence[Feed],
    tables: Collection[TableRef],
    columns: Collection[str],
) -> Ended:
    """End the history of some tables; the turn `REDO_TURN` is held.

    Args:
        settings: where the state is.
        context: commits.
        feeds: all that are declared.
        tables: whose history ends.
        columns: whose values are not to be told.

    Raises:
        DeltaError: deltalake cannot read a log.
        LakeError: the lake cannot be read or written.
    """
    done = Ended()
    noted = noted_texts(settings, context.lake, feeds)
    runs = is_locked(settings.state_dir)
    for table in sorted(tables):
        log = log_of(context.lake, table)
        if not log.exists():
            continue
        context.committer.settle()
        may_run = runs or table.layer in {Layer.GOLD, Layer.LOG}

        in_use = partial(_in_use, log, noted, may_run=may_run)
        found = end_history(log, partial(context.committer.fresh, table), in_use, columns)
        done.tables.append(table.name)
        done.files += found.files
        done.size += found.size
        done.left += [f"{table.name}: {one.path or 'the table'}: {one.why}" for one in found.left]
    return done


def _in_use(
    log: TableLog, noted: str, files: Sequence[OldFile], *, may_run: bool
) -> dict[str, str]:
    """By path, why files may be those of work that is not done."""
    why = {}
    for file in files:
        if file.path.rpartition("/")[2] in noted:
            why[file.path] = "a batch that was cut off names it: start the streams, then ask again"
        elif not file.is_named and may_run and _is_young(log, file):
            why[file.path] = "a job that runs may be writing it: ask again in an hour"
    return why


def _is_young(log: TableLog, file: OldFile) -> bool:
    stat = log.store.stat(log.data_file(file.path))
    return stat is not None and time.time() - stat.modified_ns / 1e9 < _YOUNG_S
