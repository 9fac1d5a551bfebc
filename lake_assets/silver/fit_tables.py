"""A feed's tables made to fit what is known of its schemas, and what is known made to fit them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import Decoder, HasMessageColumns, PayloadFormat
from lake_assets.model.feeds import Feed
from lake_assets.silver.adopt_tables import adopt_tables, make_tables
from lake_assets.silver.kept_types import kept_types
from lake_assets.silver.schema_history import SchemaHistory
from lake_assets.spark.lake_context import LakeContext


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFitting:
    """How a feed's tables are made to fit."""

    feed: Feed
    format: PayloadFormat[Any]
    context: LakeContext
    history: SchemaHistory
    rounds: bool
    """Whether columns of integers may become doubles: not where streams that run know them."""

    def fit(
        self,
        schemas: Any,  # noqa: ANN401 - the format's own
        last: Decoder | None,
        keys: Sequence[str],
        added: Sequence[str],
    ) -> tuple[Any, Decoder]:
        """Make or widen the tables for what is decoded now; the schemas and their plan.

        Args:
            schemas: what is known of them.
            last: what decoded before.
            keys: all that are known.
            added: those of them whose tables were not looked at before.

        Raises:
            FeedError: a table cannot be partitioned as the feed says.
            LakeError: the lake cannot be written, or the columns do not go together.
        """
        committer = self.context.committer
        before = last.columns if last else pa.schema([])
        # A requeue may have added columns that rows ask for now.
        looked_at = keys if self.feed.payload.grows else added
        have = adopt_tables(committer, self.feed, looked_at, before)
        columns = self.feed.route_columns
        decoder = self.format.plan(schemas, have, columns)
        tables = list(map(self.feed.silver_table, keys))
        kept = kept_types(committer, tables, have, decoder.columns, rounds=self.rounds)
        if kept:
            schemas = self.format.resolve(schemas, kept)
            decoder = self.format.plan(schemas, have, columns)
        is_new = last is not None and last.renames != decoder.renames
        is_other = is_new or decoder.columns != before
        is_other |= self.feed.has_own_columns and _differ(last, decoder)
        touched = keys if is_other else added
        make_tables(committer, self.feed, touched, decoder, is_new=is_new)
        # Once they are there: what a death keeps out of the history the next start finds.
        self.history.note(schemas, touched)
        return schemas, decoder


def _differ(last: Decoder | None, decoder: Decoder) -> bool:
    """Whether another message makes columns that were another's alone."""
    if not isinstance(decoder, HasMessageColumns) or not isinstance(last, HasMessageColumns):
        return False
    return decoder.message_columns != last.message_columns
