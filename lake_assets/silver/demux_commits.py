"""The commits of a batch of demux: one a table that got rows, and quarantine's, which is the last.

Making them is the committer's work.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias
from uuid import uuid4

from lake_assets.delta.commit import ATTEMPT, Batch, Commit
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.conflicts import overtaken
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard
from lake_assets.errors import ColumnsChangedError
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, quarantine_of
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.layouts import split_of
from lake_assets.spark.fan_out import Written
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store

Reached: TypeAlias = Callable[[Iterable[TableRef]], Mapping[str, str]]
"""Tells what a batch's last commit records beside its rows, from the tables that get rows."""


def commits_of(feed: Feed, demuxed: Demuxed, reached: Reached) -> list[Commit]:
    """A batch's commits; quarantine's is there with or without rows, and says how far demux is."""
    quarantine = quarantine_of(feed.feed)
    attempt = {ATTEMPT: uuid4().hex}
    commits = [
        Commit(
            table=table,
            files=written.files,
            info={"rows": str(written.rows), **attempt, **split_of(feed, table, demuxed.columns)},
        )
        for table, written in demuxed.written.items()
        if table != quarantine
    ]
    refused = demuxed.written.get(quarantine, Written())
    recorded = reached(commit.table for commit in commits)
    info = {"rows": str(refused.rows), **attempt, **recorded}
    return [*commits, Commit(table=quarantine, files=refused.files, info=info)]


@contextmanager
def discarded_unless_noted(lake: Store, commits: Sequence[Commit]) -> Iterator[None]:
    """Delete the commits' files if the block fails, which ends with the journal's note of them.

    Until then nobody commits them, and a batch that is refused comes again and again: each try
    would leave all of its rows.
    """
    try:
        yield
    except BaseException:
        for commit in commits:
            discard(log_of(lake, commit.table), commit.files)
        raise


def commit_batch(
    context: LakeContext, journal: Journal, commits: Sequence[Commit], batch: Batch, note: str
) -> None:
    """Note a batch's commits, and make them, quarantine's the last.

    Args:
        context: commits them.
        journal: where they are noted first.
        commits: of `commits_of`.
        batch: its identity.
        note: goes with them into the journal.

    Raises:
        ColumnsChangedError: it was made for other columns; nothing was committed.
        CommitConflictError: another process demuxes the same feed.
    """
    *others, last = commits
    with discarded_unless_noted(context.lake, commits):
        # Before they are noted: what is noted is committed by whoever starts next.
        context.committer.judge(commits, batch)
        journal.write(batch, commits, note)
    _append(context, others, batch)
    _append(context, [last], batch)


def _append(context: LakeContext, commits: Sequence[Commit], batch: Batch) -> None:
    """Commit what no table had when demux began; who has it now got it from somebody else."""
    try:
        for table in context.committer.append(commits, batch):
            raise overtaken(table, f"it has batch {batch.version} already")
    except ColumnsChangedError as problem:
        # Of a batch that is noted, and may be half committed: recovery undoes it.
        raise overtaken(commits[0].table, str(problem)) from problem
