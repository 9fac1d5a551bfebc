"""What the ends of logs tell of games' views: which are up to date, and which gain a little.

No table is opened: a refresh's newest commit says all of a view that is one file. Games that it
does not tell of are `gold.catchup`'s.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
from deltalake.schema import Schema as DeltaSchema

from lake_assets.gold.buckets import buckets_now
from lake_assets.gold.catchup import Catchup, merging
from lake_assets.gold.foldable import folds_of
from lake_assets.gold.folds import Folds
from lake_assets.gold.source import Source, source_of
from lake_assets.lake.gained import gained_between
from lake_assets.lake.means import Means
from lake_assets.lake.standing import Position, position_from
from lake_assets.lake.tail import Tail, tail_of
from lake_assets.model.feeds import GoldView
from lake_assets.model.tables import gold_of, silver_of

_MOST_ROWS = 1_000_000
"""New rows of a game up to which a task holds what they come to, at worst a key a row. More are as
fast in Spark's job, which spills."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """Where one game stands."""

    source: Source
    gold: Tail


@dataclass(frozen=True, kw_only=True, slots=True)
class Near:
    """A game whose small gain a task merges into its view of one file."""

    work: Catchup
    folds: Folds


def ends_of(view: GoldView, games: Sequence[str], means: Means) -> dict[str, End]:
    """By game, where it stands; games of which their logs' ends do not tell are absent."""
    found = {}
    for game in games:
        silver = tail_of(silver_of(game).path(means.lake))
        gold = tail_of(gold_of(game, view.name).path(means.lake))
        position = position_from(gold.info) if gold else None
        if gold is None or position is None or silver is None or not silver.table_id:
            continue
        source = source_of(
            view, game, (silver.version, silver.table_id), (gold.version, position), means
        )
        found[game] = End(source=source, gold=gold)
    return found


def near_of(view: GoldView, ends: Iterable[End], means: Means) -> list[Near]:
    """Those of the games that a task can merge."""
    folds = cache(lambda columns: folds_of(view, _arrow(columns)))
    near = []
    for end in ends:
        position = end.source.position
        if position is None or not _is_small(end, position, means):
            continue
        # A log is read only where its rows could be merged.
        found = folds(position.columns)
        if found and (work := _work(end, position, means)):
            near.append(Near(work=work, folds=found))
    return near


def _is_small(end: End, position: Position, means: Means) -> bool:
    """Whether gold is one bucket that goes on from where it is."""
    has = end.gold.added
    # With one bucket a refresh writes all rows or none, so what it added is all there is.
    if position.buckets != 1 or not has or not position.columns or not end.gold.table_id:
        return False
    if end.source.why_full:
        return False
    return buckets_now(sum(file.rows for file in has), 1, means.bucket_rows) == 1


def _work(end: End, position: Position, means: Means) -> Catchup | None:
    """What a game gained; None if it is much, or not all that happened."""
    source = end.source
    folder = silver_of(source.game).path(means.lake)
    gained = gained_between(folder, position.silver_version, source.silver.version)
    if gained.obstacle or gained.has_changed or gained.rows > _MOST_ROWS:
        return None
    return replace(
        merging(source, gained, folder, end.gold.added),
        columns=position.columns,
        plain_id=end.gold.table_id,
    )


def _arrow(columns: str) -> pa.Schema:
    return pa.schema(DeltaSchema.from_json(columns).to_arrow())
