"""A feed's tables made to fit what is known of its schemas, and what is known made to fit them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lake_assets.errors import LakeError
from lake_assets.formats.base import Decoder, PayloadFormat
from lake_assets.formats.questions import KnownVersionsQuestion, SelectedColumnsQuestion
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import is_shared
from lake_assets.silver.adopt_tables import adopt_tables, make_tables
from lake_assets.silver.kept_types import kept_types
from lake_assets.silver.masking_key import ensure_same, record
from lake_assets.silver.own_columns import columns_apart
from lake_assets.silver.schema_history import SchemaHistory
from lake_assets.silver.selecting_format import hashing_key, rotates_key
from lake_assets.silver.shared_tables import while_it_fits
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
            LakeError: the lake cannot be written, the columns do not go together, integers would be
                rounded, or a table has hashes of another masking key.
        """
        if last is None and (versions := self.history.versions()):
            question = KnownVersionsQuestion(versions)
            schemas = self.format.resolve(schemas, frozenset({question}))
        if last is None and (selected := self.history.selected()):
            asked = SelectedColumnsQuestion(selected)
            schemas = self.format.resolve(schemas, frozenset({asked}))
        with while_it_fits(self.feed):
            return self._fit(schemas, last, keys, added)

    def _fit(
        self,
        schemas: Any,  # noqa: ANN401 - the format's own
        last: Decoder | None,
        keys: Sequence[str],
        added: Sequence[str],
    ) -> tuple[Any, Decoder]:
        committer = self.context.committer
        before = last.columns if last else pa.schema([])
        # A requeue, or another feed that fills them, may have added columns that rows ask for now.
        looked_at = keys if self.feed.payload.grows or is_shared(self.feed) else added
        have = adopt_tables(committer, self.feed, looked_at, before)
        columns = self.feed.route_columns
        key = b"" if rotates_key(self.format) else hashing_key(self.format)
        if key:
            ensure_same(committer, map(self.feed.silver_table, looked_at), key)
        decoder = self.format.plan(schemas, have, columns)
        tables = list(map(self.feed.silver_table, keys))
        asked: set[str] = set()
        while kept := kept_types(committer, tables, have, decoder.columns, rounds=self.rounds):
            names = {name for one in kept for name in one.columns}
            if names <= asked:
                raise _rounded(self.feed, sorted(names))
            asked |= names
            schemas = self.format.resolve(schemas, kept)
            # Where one schema's fractions are left out, those of an older one may come instead.
            decoder = self.format.plan(schemas, have, columns)
        is_new = last is not None and last.renames != decoder.renames
        is_other = is_new or decoder.columns != before
        if last is not None and self.feed.has_own_columns:
            # A message or a key may get columns that another has already.
            is_other |= columns_apart(last) != columns_apart(decoder)
        touched = keys if is_other else added
        make_tables(committer, self.feed, touched, decoder, is_new=is_new)
        if key:
            record(committer, map(self.feed.silver_table, touched), key)
        # Once they are there: what a death keeps out of the history the next start finds.
        self.history.note(schemas, touched)
        return schemas, decoder


def _rounded(feed: Feed, names: Sequence[str]) -> LakeError:
    return LakeError(
        f"silver of feed {feed.feed!r}",
        f"column {', '.join(names)} has integers, which doubles would round or other processes "
        "write, and its format makes doubles of them all the same",
        "Stop the streams and rebuild silver, or give the fractions a column of their own",
    )
