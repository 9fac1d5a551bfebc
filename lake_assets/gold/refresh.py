"""Refreshing gold: all asked-for games of a view in one Spark job, then one commit a game.

Silver's files are read by name from its tables' logs, so a thousand games are one scan and one
aggregation, not a thousand plans. Recomputes in full what is behind, and touches nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from lake_assets.errors import ExpectationFailedError, FeedError
from lake_assets.gold.judge import GoldJudge, ensure_none_fails, judged_of, marked
from lake_assets.gold.plan import info_of, is_behind
from lake_assets.lake.change import Commit
from lake_assets.lake.fanout import discard, fan_out
from lake_assets.lake.history import last_info, open_table
from lake_assets.lake.means import Means
from lake_assets.lake.read import read_tables
from lake_assets.lake.sql import first_line
from lake_assets.lake.standing import position_from
from lake_assets.lake.writer import TABLE, Layout, Target, WritePlan
from lake_assets.model.feeds import Feed, GoldView
from lake_assets.model.reports import RefreshReport, ViewRefresh
from lake_assets.model.tables import gold_of, silver_of


@dataclass(frozen=True, kw_only=True, slots=True)
class _Source:
    """One game's silver at the version a refresh stands for."""

    game: str
    handle: DeltaTable


def refresh(  # noqa: PLR0913 - where, what, and which of it
    session: SparkSession,
    feed: Feed,
    view: GoldView,
    games: Sequence[str],
    means: Means,
    blocked: Mapping[str, str] | None = None,
    *,
    anew: bool = False,
) -> RefreshReport:
    """Bring a view up to date for those of `games` whose silver has changed, or all if `anew`.

    Readers see the old rows of a game or the new ones, never a mixture; games that are up to date
    or have no silver yet are left alone, and so are those that are `blocked`, by game and why.

    Raises:
        ExpectationFailedError: rows violate an expectation of the view that fails; no game of the
            view is changed.
        FeedError: a key, a measure or an expectation of the view does not compile.
        LakeError: the lake cannot be read or written.
    """
    started = perf_counter()
    wanting, current = _sort_out(view, games, means.lake, anew=anew)
    held = {s.game: blocked[s.game] for s in wanting if blocked and s.game in blocked}
    behind = [source for source in wanting if source.game not in held]
    if not behind:
        return RefreshReport(
            refreshed=(),
            up_to_date=tuple((game, view.name) for game in current),
            blocked=held,
            seconds={"plan": perf_counter() - started},
        )
    aggregated = _aggregate(session, feed, view, behind)
    schema = to_arrow_schema(aggregated.drop(TABLE).schema, timezone="UTC")
    refreshed = [source.game for source in behind]
    planned = perf_counter()
    plan = WritePlan(
        targets=tuple(
            Target(path=str(gold_of(s.game, view.name).path(means.lake)), layout=view.name)
            for s in behind
        ),
        layouts={view.name: Layout(schema=schema, sources=tuple(schema.names))},
        buffer_bytes=means.buffer_bytes,
    )
    judge = (lambda: GoldJudge(view, refreshed)) if view.expectations else None
    left = fan_out(marked(aggregated, view), plan, judge)
    written = left.written
    judged = judged_of(left.notes, view, refreshed)
    try:
        ensure_none_fails(judged, view)
    except ExpectationFailedError:
        discard(written, plan)
        raise
    done = perf_counter()
    commits = {
        index: Commit(
            table=gold_of(source.game, view.name),
            files=written[index].files if index in written else (),
            info=info_of(view, source.handle.version()),
        )
        for index, source in enumerate(behind)
    }
    means.door.create({commit.table: schema for commit in commits.values()})
    means.door.replace(list(commits.values()), schema)
    return RefreshReport(
        refreshed=tuple(
            ViewRefresh(
                game=source.game,
                view=view.name,
                rows=written[index].rows if index in written else 0,
                silver_version=source.handle.version(),
                files=len(written[index].files) if index in written else 0,
            )
            for index, source in enumerate(behind)
        ),
        up_to_date=tuple((game, view.name) for game in current),
        judged=judged,
        blocked=held,
        seconds={
            "plan": planned - started,
            "job": done - planned,
            "commit": perf_counter() - done,
        },
    )


def _sort_out(
    view: GoldView, games: Sequence[str], lake: Path, *, anew: bool
) -> tuple[list[_Source], list[str]]:
    behind: list[_Source] = []
    current: list[str] = []
    for game in games:
        silver = open_table(lake, silver_of(game))
        if silver is None:
            continue
        gold = open_table(lake, gold_of(game, view.name))
        position = position_from(last_info(gold)) if gold else None
        if anew or is_behind(view, silver.version(), position):
            behind.append(_Source(game=game, handle=silver))
        else:
            current.append(game)
    return behind, current


def _aggregate(
    session: SparkSession, feed: Feed, view: GoldView, behind: Sequence[_Source]
) -> DataFrame:
    """One row a game and key: the view's keys and measures, and `#table`, the index in `behind`."""
    route = feed.route.column
    silver = read_tables(session, [source.handle for source in behind])
    places = session.createDataFrame(
        [(source.game, index) for index, source in enumerate(behind)],
        f"`#game` string, `{TABLE}` int",
    )
    try:
        keys = [F.expr(sql).alias(name) for name, sql in view.key_expressions.items()]
        grouped = silver.groupBy(F.col(route).cast("string").alias("#game"), *keys).agg(
            *(F.expr(sql).alias(name) for name, sql in view.measures.items())
        )
    except AnalysisException as problem:
        raise FeedError(
            f"gold view {view.name!r} of feed {feed.feed!r}",
            f"does not compile ({first_line(problem)})",
            f"Correct its keys and measures; silver's columns are {', '.join(silver.columns)}",
        ) from problem
    columns = [*view.keys, *view.measures]
    return grouped.join(F.broadcast(places), "#game").select(
        *(F.col(f"`{name}`") for name in columns), F.col(f"`{TABLE}`")
    )
