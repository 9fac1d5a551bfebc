"""A feed's schemas, noted in the lake each time that its tables' columns change."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import PayloadFormat
from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.schema_merge import in_words
from lake_assets.formats.wrapped.column_reasons import reasons_of_feed
from lake_assets.logs.schema_log import entries_of, record_changes
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.schema_history import Reason, RegisteredVersion, Why, changes, selected_alone
from lake_assets.silver.rows import decoded_part
from lake_assets.silver.selecting_format import SelectingFormat
from lake_assets.silver.transforming_format import TransformingFormat
from lake_assets.spark.lake_context import LakeContext


@dataclass(kw_only=True)
class SchemaHistory:
    """Notes one feed's; used by one thread at a time."""

    context: LakeContext
    feed: Feed
    format: PayloadFormat[Any]

    _versions: tuple[RegisteredVersion, ...] | None = field(default=None, init=False)

    def note(self, schemas: Any, keys: Sequence[str]) -> None:  # noqa: ANN401 - the format's own
        """Note what the log lacks of what some keys' tables have, and of the versions.

        Args:
            schemas: what is known of them.
            keys: whose tables may have changed.

        Raises:
            LakeError: the lake cannot be read or written.
        """
        schemas, own, others = self._decoded(schemas)
        versions = versions_in(schemas)
        if not keys and versions == self._versions:
            return
        feed = self.feed
        tables = {feed.silver_table(key): key for key in keys}
        columns = {
            tables[table]: _types(decoded_part(schema, origin_of(feed)))
            for table, schema in self.context.committer.columns(tables).items()
        }
        decoded = reasons_of_feed(feed.payload, own, schemas, feed.route_columns)

        def why(name: str, kind: str) -> Reason:
            return Reason(others[name]) if name in others else decoded(name, kind)

        record_changes(self.context, feed.feed, lambda kept: changes(kept, columns, versions, why))
        self._versions = versions

    def versions(self) -> tuple[RegisteredVersion, ...]:
        """All that the log has of versions, in the order of time; none without a registry.

        Raises:
            LakeError: the lake cannot be read.
        """
        if not self.feed.payload.has_versions:
            return ()
        entries = entries_of(self.context.lake, self.feed.feed)
        return tuple(made for one in entries if (made := one.registered) is not None)

    def selected(self) -> tuple[str, ...]:
        """The columns that tables have since keys select them, where values may bring others.

        Raises:
            LakeError: the log cannot be read.
        """
        if not (self.feed.selects_by_key and self.feed.payload.grows):
            return ()
        return tuple(sorted(selected_alone(entries_of(self.context.lake, self.feed.feed))))

    def _decoded(self, schemas: Any) -> tuple[Any, PayloadFormat[Any], dict[str, Why]]:  # noqa: ANN401
        """What is known of decoded columns, of which format, and why others are not as decoded."""
        own, others = self.format, dict[str, Why]()
        if isinstance(own, SelectingFormat):
            others = dict.fromkeys(own.computed(schemas), Why.SELECTED)
            schemas, own = schemas.inner, own.inner
        if isinstance(own, TransformingFormat):
            others = dict.fromkeys(own.computed(schemas), Why.TRANSFORMED) | others
            own = own.inner
        return schemas, own, others


def _types(schema: pa.Schema) -> dict[str, str]:
    return {column.name: in_words(column.type) for column in schema}
