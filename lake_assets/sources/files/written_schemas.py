"""The schemas that files bring, as the index keeps them: each in the row of its first file.

Bronze's rows name them by fingerprint, and stay readable once the files are gone.
"""

from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from lake_assets.model.feeds import Feed
from lake_assets.sources.files.avro_container import schema_id
from lake_assets.sources.files.declared_messages import message_id
from lake_assets.sources.files.index import rows_of_index
from lake_assets.sources.files.measuring import Measured
from lake_assets.storage.store import Store


def id_of(schema: str) -> int:
    """`schema_id` of the rows of a schema, as it is in the index."""
    # Avro's begins with the first name of a record.
    return message_id(schema) if schema.startswith('{"descriptors"') else schema_id(schema)


def written_schemas(lake: Store, feed: str) -> list[tuple[int, str]]:
    """The schemas of a feed's files by `schema_id`, the one that came first first.

    Raises:
        LakeError: the index cannot be read.
    """
    found: list[dict[str, Any]] = []
    for rows in rows_of_index(lake, feed, ("first", "lines", "noticed_at", "schema")):
        found += rows.filter(pc.is_valid(rows["schema"])).to_pylist()
    # Any number of files without rows may stand before one offset.
    found.sort(key=lambda row: (row["first"], row["lines"], row["noticed_at"]))
    schemas = dict.fromkeys(row["schema"] for row in found)
    return [(id_of(schema), schema) for schema in schemas]


class KnownSchemas:
    """Which schemas the index has; used by the one that adds to it."""

    def __init__(self, lake: Store, feed: Feed) -> None:
        """Know what it has.

        Raises:
            LakeError: the index cannot be read.
        """
        has_some = feed.payload.brings_schemas
        self._known = dict(written_schemas(lake, feed.feed)) if has_some else {}

    def noted(self, measured: Measured) -> Measured:
        """What is known of a file, with its schema only if none before it had that.

        Two schemas of one fingerprint could not be told apart later: the second one's file is a bad
        one.
        """
        if not measured.schema:
            return measured
        number = id_of(measured.schema)
        known = self._known.get(number)
        if known is None:
            self._known[number] = measured.schema
            return measured
        if known == measured.schema:
            return replace(measured, schema="")
        fact = f"has a schema whose fingerprint, {number}, is that of another file's"
        return Measured(lines=1, problem=fact)
