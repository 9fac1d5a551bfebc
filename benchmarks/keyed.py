"""What keeping keyed tables costs: ours, Spark's AUTO CDC, and `MERGE`, on the same changes.

All three leave the same rows, which is checked after each round; their seconds stand side by side.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.auto_cdc_peer import AutoCdc, auto_cdc
from benchmarks.keyed_peers import Merge, Ours, differing
from benchmarks.pipelines import missing_packages
from benchmarks.section import Figure, Section
from benchmarks.venue import Venue
from lake_assets.errors import LakeAssetsError, StreamError
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext, open_lake

KEYED = "keyed"

_ROUNDS = (0.9, 0.09, 0.01)
"""Shares of the changes that come in each round."""

Peer: TypeAlias = Ours | Merge | AutoCdc

_DELETES = 0.1
_DISORDER = 1_000
"""Changes that come out of their order lie within so many."""


def measure_keyed(venue: Venue) -> Section:
    """Apply changes of rows in three rounds, to the fewest tables asked for and to many.

    Raises:
        StreamError: the peers' rows differ, or one failed.
    """
    rows: list[dict[str, Figure]] = []
    for tables in sorted({min(venue.options.tables), venue.options.some_tables}):
        rows += _measure(venue, tables)
    return Section(
        name=KEYED,
        keys=("tables", "new_rows"),
        rows=rows,
        note=f"{venue.options.events:,} changes of half as many rows, {_DELETES:.0%} deletes, out "
        f"of order within {_DISORDER:,}; a query a table for MERGE, a flow a table for AUTO CDC, "
        "one job for ours; without the start of sessions. AUTO CDC's tables are in memory, the "
        "others' on disk",
    )


def _measure(venue: Venue, tables: int) -> list[dict[str, Figure]]:
    settings = venue.lake()
    feed = feed_of(tables)
    places = {key: settings.lake_dir / feed.silver_table(key).relative for key in feed.keys}
    changes = changes_of(venue.options.events, feed.keys)
    rows: list[dict[str, Figure]] = []
    with open_lake(settings) as context, ExitStack() as ends:
        peers = _peers(venue, settings, feed, context, places, ends)
        start = 0
        for share in _ROUNDS:
            taken = changes.slice(start, round(share * len(changes)))
            start += len(taken)
            for key, place in places.items():
                own = taken.filter(pa.compute.equal(taken["shop"], key))
                write_deltalake(place, own, mode="append")
            seconds = _seconds(venue, peers)
            _ensure_same(peers, feed)
            rows.append({"tables": tables, "new_rows": len(taken), **seconds})
            venue.announce(f"{KEYED}: {rows[-1]}")
    return rows


def _seconds(venue: Venue, peers: dict[str, Peer]) -> dict[str, float | None]:
    """Of each peer's refresh; AUTO CDC leaves the peers where it fails."""
    seconds: dict[str, float | None] = dict.fromkeys(("ours_s", "merge_s", "auto_cdc_s"))
    for name, peer in tuple(peers.items()):
        try:
            seconds[f"{name}_s"] = round(peer.refresh(), 2)
        except StreamError as problem:
            if not isinstance(peer, AutoCdc):
                raise
            venue.announce(f"{KEYED}: AUTO CDC is left out: {problem}")
            del peers[name]
    return seconds


def _peers(
    venue: Venue,
    settings: Settings,
    feed: Feed,
    context: LakeContext,
    places: Mapping[str, Path],
    ends: ExitStack,
) -> dict[str, Peer]:
    """Each peer; AUTO CDC, which has a process of its own, ends with `ends`."""
    peers: dict[str, Peer] = {
        "ours": Ours(venue.session, feed, context),
        "merge": Merge(venue.session, settings, places),
    }
    missing = missing_packages()
    if missing:
        fact = f"{', '.join(missing)} is not installed (make setup installs it)"
        venue.announce(f"{KEYED}: AUTO CDC did not run: {fact}")
        return peers
    try:
        return {**peers, "auto_cdc": ends.enter_context(auto_cdc(settings, places))}
    except LakeAssetsError as problem:
        venue.announce(f"{KEYED}: AUTO CDC did not run: {problem}")
        return peers


def _ensure_same(peers: Mapping[str, Peer], feed: Feed) -> None:
    for key in feed.keys:
        if differing([peer.rows(key) for peer in peers.values()]):
            fact = f"{', '.join(peers)} have different rows in {key}"
            raise StreamError(f"bench: {KEYED}", fact, "Their times say nothing")


def changes_of(count: int, keys: tuple[str, ...]) -> pa.Table:
    """Changes of rows, by `shop`, in the order in which they come; the same each time."""
    chance = np.random.default_rng(7)
    version = np.argsort(np.arange(count) + chance.uniform(0, _DISORDER, count))
    ids = chance.integers(0, max(1, count // 2), count)
    deletes = chance.random(count) < _DELETES
    shops = pa.array(keys).take(pa.array(ids % len(keys)))
    return pa.table(
        {
            "shop": shops,
            "id": ids,
            "version": version,
            "op": np.where(deletes, "D", "U"),
            "value": pa.array(version).cast(pa.string()),
            "_topic": pa.repeat("changes", count),
            "_partition": pa.repeat(pa.scalar(0, pa.int32()), count),
            "_offset": np.arange(count),
        }
    )


def feed_of(tables: int) -> Feed:
    """A feed with so many keyed tables, by `shop`."""
    return Feed.model_validate(
        {
            "feed": "shops",
            "source": {"kafka": {"topic": "changes"}},
            "payload": {"json": {"schema": "shop string, id bigint, version bigint, op string"}},
            "route": {"column": "shop", "keys": [f"shop_{n}" for n in range(tables)]},
            "keyed": {"by": "id", "order": "version", "deletes": "op = 'D'"},
        }
    )
