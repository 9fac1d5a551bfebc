"""A feed's tables of some keys, taken over as they are, and made or widened for what is decoded.

What they look like is `silver.layouts`'; when it is their turn, `silver.demux`'.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lake_assets.delta.committer import Committer
from lake_assets.delta.table_owners import claim
from lake_assets.delta.widen import widen
from lake_assets.formats.base import Decoder
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.owners import Owner, owner_of_silver
from lake_assets.model.tables import TableRef, duplicates_of, quarantine_of, waiting_of
from lake_assets.silver.duplicate_rows import duplicates_schema
from lake_assets.silver.layouts import (
    ensure_fits,
    partitions_of,
    tables_columns,
    with_partition_sources,
)
from lake_assets.silver.own_columns import own_columns
from lake_assets.silver.rows import quarantine_of_feed
from lake_assets.silver.silver_columns import held_columns
from lake_assets.storage.at_once import at_once


def adopt_tables(
    committer: Committer, feed: Feed, keys: Sequence[str], before: pa.Schema
) -> pa.Schema:
    """The decoded columns that hold the rows of keys' tables, as far as these are there.

    Args:
        committer: of the lake.
        feed: whose tables they become, if they record nobody.
        keys: whose tables.
        before: the columns that other tables of the feed have.

    Raises:
        TableOwnedError: one is another's.
        LakeError: one does not go with the others, or is not laid out as the feed says.
    """

    def claim_one(key: str) -> None:
        claim(committer.store, feed.silver_table(key), owner_of_silver(feed, key))

    # Before they are read: what another feed has there is no column of this one's.
    at_once(committer.store, claim_one, keys)
    handles = committer.opened([feed.silver_table(key) for key in keys])
    ensure_fits(feed, handles)
    columns = {t: pa.schema(handle.schema().to_arrow()) for t, handle in handles.items()}
    return held_columns(before, columns, origin_of(feed))


def make_tables(
    committer: Committer, feed: Feed, keys: Sequence[str], decoder: Decoder, *, is_new: bool
) -> None:
    """Make keys' tables fit what is decoded, and those of rows that are set aside.

    Args:
        committer: of the lake.
        feed: whose tables.
        keys: whose tables.
        decoder: what decodes.
        is_new: as `delta.widen.widen` takes it.

    Raises:
        FeedError: a table cannot be partitioned as the feed says.
        LakeError: the lake cannot be written.
    """
    decoded = with_partition_sources(feed, decoder.columns, decoder.unused)
    own = own_columns(feed, keys, decoded, decoder)
    columns = tables_columns(feed, keys, own, decoder.renames)
    owner = Owner(feed=feed.feed)
    aside = [quarantine_of(feed.feed)]
    aside += [waiting_of(feed.feed)] if decoder.has_waiting else []
    others = dict.fromkeys(aside, quarantine_of_feed(feed))
    if feed.deduplicate:
        others[duplicates_of(feed.feed)] = duplicates_schema(origin_of(feed))
    owners = {feed.silver_table(key): owner_of_silver(feed, key) for key in keys}
    created = committer.create(
        {**columns, **others},
        partition_by=partitions_of(feed, keys),
        owners={**owners, **dict.fromkeys(others, owner)},
    )
    there = {table: schema for table, schema in columns.items() if table not in created}
    if feed.has_own_columns:
        all_columns = tables_columns(feed, keys, [decoded] * len(keys), decoder.renames)
        there = _with_kept(there, all_columns, committer.columns(list(there)))
    widen(committer, there, decoder.renames, is_new=is_new)
    # Made before the feed was routed by a header, they lack it.
    older = [table for table in aside if feed.keeps_headers and table not in created]
    lacking = dict.fromkeys(older, quarantine_of_feed(feed))
    told = duplicates_of(feed.feed)
    if told in others and told not in created:
        lacking[told] = others[told]  # another feed may have had the silver tables when it was made
    committer.add_columns(lacking)


def _with_kept(
    own: Mapping[TableRef, pa.Schema],
    all_columns: Mapping[TableRef, pa.Schema],
    has: Mapping[TableRef, pa.Schema],
) -> dict[TableRef, pa.Schema]:
    """A table's own columns, and those of others that it has of another day, as wide as theirs."""
    return {
        table: pa.schema(
            [c for c in all_columns[table] if c.name in {*schema.names, *has[table].names}]
        )
        for table, schema in own.items()
    }
