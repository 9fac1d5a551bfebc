"""Ending the history of tables that rows were erased from, as far as nobody works with it."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from lake_assets.delta.history_end import end_history
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.unfinished import Unfinished
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.files import is_locked

_BATCHES_WITHIN_S = 30.0
"""For batches that streams have in hand, all tables together: then their files are committed."""

_LOOK_EVERY_S = 0.5


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

    def add(self, other: "Ended") -> None:
        """Take in what else ended."""
        self.tables += [name for name in other.tables if name not in self.tables]
        self.files += other.files
        self.size += other.size
        self.left += other.left


def end_histories(
    settings: Settings,
    context: LakeContext,
    feeds: Sequence[Feed],
    tables: Collection[TableRef],
    columns: Collection[str],
) -> Ended:
    """End the history of some tables; the turn `REDO_TURN` is held.

    Where streams run, files of theirs that no commit names yet are waited for.

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
    unfinished = Unfinished.of(settings, context.lake, feeds)
    until = time.monotonic() + _BATCHES_WITHIN_S
    for table in sorted(tables):
        log = log_of(context.lake, table)
        if not log.exists():
            continue
        open_newest = partial(context.committer.fresh, table)
        done.tables.append(table.name)
        while True:
            context.committer.settle()
            found = end_history(log, open_newest, unfinished.in_use(table), columns)
            done.files += found.files
            done.size += found.size
            is_over = time.monotonic() > until or not is_locked(settings.state_dir)
            if not found.in_use or is_over:
                break
            time.sleep(_LOOK_EVERY_S)
        done.left += [f"{table.name}: {one.path or 'the table'}: {one.why}" for one in found.left]
    unfinished.save()
    return done
