"""A feed's schemas, noted in the lake each time that its tables' columns change."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import PayloadFormat
from lake_assets.formats.column_reasons import reasons_of, versions_in
from lake_assets.formats.schema_merge import in_words
from lake_assets.logs.schema_log import entries_of, record_changes
from lake_assets.model.feeds import Feed
from lake_assets.model.schema_history import Reason, RegisteredVersion, Why, changes
from lake_assets.silver.rows import decoded_part
from lake_assets.silver.selecting_format import SelectingFormat
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
        schemas, own, selected = self._decoded(schemas)
        versions = versions_in(schemas)
        if not keys and versions == self._versions:
            return
        feed, route = self.feed, self.feed.route_column
        tables = {feed.silver_table(key): key for key in keys}
        columns = {
            tables[table]: _types(decoded_part(schema, feed.source.origin))
            for table, schema in self.context.committer.columns(tables).items()
        }
        decoded = reasons_of(feed.payload, own, schemas, () if route is None else (route,))

        def why(name: str, kind: str) -> Reason:
            return Reason(Why.SELECTED) if name in selected else decoded(name, kind)

        record_changes(self.context, feed.feed, lambda kept: changes(kept, columns, versions, why))
        self._versions = versions

    def versions(self) -> tuple[RegisteredVersion, ...]:
        """All that the log has of versions, in the order of time.

        Raises:
            LakeError: the lake cannot be read.
        """
        entries = entries_of(self.context.lake, self.feed.feed)
        return tuple(made for one in entries if (made := one.registered) is not None)

    def _decoded(self, schemas: Any) -> tuple[Any, PayloadFormat[Any], frozenset[str]]:  # noqa: ANN401
        """What is known of decoded columns, of which format, and which are selected otherwise."""
        if isinstance(self.format, SelectingFormat):
            return schemas.inner, self.format.inner, self.format.computed(schemas)
        return schemas, self.format, frozenset()


def _types(schema: pa.Schema) -> dict[str, str]:
    return {column.name: in_words(column.type) for column in schema}
