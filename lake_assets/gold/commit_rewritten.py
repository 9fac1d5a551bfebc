"""Committing keys' views that a job has written: those computed in full, and those merged."""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from lake_assets.gold.refresh_plan import Rewritten
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import Mode
from lake_assets.spark.lake_context import LakeContext


class Compiled(Protocol):
    """What is committed of."""

    @property
    def feed(self) -> Feed:
        """Whose view."""

    @property
    def view(self) -> GoldView:
        """Which."""

    @property
    def columns(self) -> pa.Schema:
        """Of its tables."""


def commit_rewritten(
    rewritten: Sequence[Rewritten], compiled: Compiled, context: LakeContext
) -> None:
    """One commit a key, each with what it stands for.

    Raises:
        CommitConflictError: somebody else changed a gold table meanwhile.
    """
    columns, view = compiled.columns, compiled.view.name
    owners = {
        one.commit.table: owner_of_view(compiled.feed, view, one.plan.source.key)
        for one in rewritten
        if one.plan.is_first
    }
    context.committer.create(dict.fromkeys(owners, columns), owners=owners)
    full = [one.commit for one in rewritten if one.plan.mode is Mode.FULL]
    context.committer.replace(full, columns)
    merged = [one.commit for one in rewritten if one.plan.mode is not Mode.FULL]
    context.committer.replace_files(merged)
