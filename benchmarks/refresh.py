"""What bringing gold up to date costs: after some new rows, in full, and with a query a game.

Seconds are of `gold.refresh.refresh` in a warm session; the start of Spark is not in them. After
each refresh its rows are compared with those of the full recompute that follows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow as pa
from pyspark.sql import functions as F

from benchmarks.ground import Ground, check, timed
from benchmarks.history import History, history_of
from benchmarks.landed import landed
from benchmarks.ours import walk
from benchmarks.section import Figure, Section
from benchmarks.topic import topic_of
from benchmarks.venue import Venue
from lake_assets.errors import StreamError
from lake_assets.gold.refresh import refresh
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import RefreshReport
from lake_assets.spark.lake_context import LakeContext, open_lake

REFRESH = "refresh"

_EACH = "each"
"""Folder of the views that a query a game makes."""

_SHARES = (0.001, 0.01, 0.1)
"""New rows, of those that the history began with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stand:
    venue: Venue
    ground: Ground
    context: LakeContext
    view: GoldView
    games: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return self.context.lake.root.as_path()

    def refresh(self, *, full_refresh: bool) -> float:
        """Seconds of a refresh that must have brought all games up to date."""
        reports: list[RefreshReport] = []

        def act() -> None:
            session, feed = self.ground.session, self.ground.feed
            reports.append(
                refresh(
                    session,
                    feed,
                    self.view,
                    self.games,
                    self.context,
                    None,
                    full_refresh=full_refresh,
                )
            )

        seconds = timed(act, self.ground.stop)
        done = len(reports[0].refreshed)
        if done != len(self.games):
            fact = f"refreshed {done} games of {len(self.games)}"
            raise StreamError(f"bench: {REFRESH}", fact, "Its time says nothing")
        return seconds

    def gold(self) -> list[pa.Table]:
        """The rows of each game's view, sorted."""
        keys = [(key, "ascending") for key in self.view.keys]
        tables = [self.ground.feed.gold_table(self.view, game) for game in self.games]
        handles = map(self.context.committer.fresh, tables)
        return [handle.to_pyarrow_table().sort_by(keys) for handle in handles]


def measure_refresh(venue: Venue) -> Section:
    """Refresh the first view of the shipped feed for up to 100 games over a long history.

    Raises:
        StreamError: a refresh left other rows than the full recompute after it.
    """
    options, tables = venue.options, venue.options.some_tables
    venue.announce(f"refresh: making {options.history:,} rows of silver in {tables} tables …")
    events = min(options.events, options.history)
    with topic_of(venue.endpoints, tables=tables, events=events, stop=venue.stop) as topic:
        ground = venue.ground(topic)
        walk(ground)
        with open_lake(ground.settings) as context:
            games = tuple(game for game, count in topic.by_game.items() if count)
            view = ground.feed.gold[0]
            stand = _Stand(venue=venue, ground=ground, context=context, view=view, games=games)
            return _measure(stand, history_of(context, ground.feed, games))


def _measure(stand: _Stand, history: History) -> Section:
    began_with = history.rows
    have = began_with + history.add(stand.venue.options.history / began_with - 1)
    stand.refresh(full_refresh=False)  # makes the tables, and warms the session
    rows: list[dict[str, Figure]] = []
    for share in _SHARES:
        row = _after(stand, history, round(share * have))
        rows.append({"refresh": f"after {share:.1%} new rows", "of_rows": have, **row})
        stand.venue.announce(f"{REFRESH} after {share:.1%} new rows: {row['seconds']} s")
    full = stand.refresh(full_refresh=True)
    rows.append(_row("all games in one job", full, full))
    rows.append(_row("a query a game", timed(lambda: _each_game(stand), stand.ground.stop), full))
    for game, view in zip(stand.games, stand.gold(), strict=True):
        stored = landed(stand.folder / _EACH / game).rows
        check(f"{REFRESH}, a query a game, {game}", rows=stored, expected=view.num_rows)
    return Section(
        name=REFRESH,
        keys=("refresh",),
        rows=rows,
        note=f"{len(stand.games)} games, view {stand.view.name}; history of hard links to "
        f"{began_with:,} real rows; medians of {stand.venue.options.runs} runs after new rows, "
        "each with a full one after it; the last two rows once; no session start",
    )


def _after(stand: _Stand, history: History, wanted: int) -> dict[str, Figure]:
    """Refresh after so many new rows, and then in full, `runs` times; medians."""
    incremental, full, added = [], [], 0
    for _ in range(stand.venue.options.runs):
        added = history.add(wanted / history.rows)
        incremental.append(stand.refresh(full_refresh=False))
        refreshed = stand.gold()
        full.append(stand.refresh(full_refresh=True))
        _ensure_same(refreshed, stand.gold(), stand.games)
    return {"new_rows": added, **_figures(median(incremental), median(full))}


def _row(name: str, seconds: float, full: float) -> dict[str, Figure]:
    return {"refresh": name, **_figures(seconds, full)}


def _figures(seconds: float, full: float) -> dict[str, Figure]:
    return {
        "seconds": round(seconds, 3),
        "full_s": round(full, 3),
        "ratio_to_full": round(seconds / full, 4),
    }


def _each_game(stand: _Stand) -> None:
    """What anybody would write: for each game, read its table, aggregate, overwrite its view."""
    measures = [F.expr(sql).alias(name) for name, sql in stand.view.measures.items()]
    lake, session = stand.folder, stand.ground.session
    for game in stand.games:
        table = stand.ground.feed.silver_table(game)
        silver = session.read.format("delta").load(str(lake / table.relative))
        view = silver.groupBy(*stand.view.keys).agg(*measures)
        view.write.format("delta").mode("overwrite").save(str(lake / _EACH / game))


def _ensure_same(
    found: Sequence[pa.Table], recomputed: Sequence[pa.Table], games: Sequence[str]
) -> None:
    for game, left, right in zip(games, found, recomputed, strict=True):
        if left != right.select(left.column_names):
            raise StreamError(
                f"bench: {REFRESH} of {game}",
                f"left {left.num_rows} rows that differ from the full recompute's {right.num_rows}",
                "Its time says nothing",
            )
