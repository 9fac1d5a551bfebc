"""Demux whose rows are routed by more than a column: what that costs beside demux without it."""

from dataclasses import replace

from benchmarks.ground import Ground
from benchmarks.ours import DEMUX, walk
from lake_assets.model.routes import Route

BY_SQL = "demux-route-by-sql"
BY_SPARK = "demux-route-by-spark"
SEVERAL = "demux-two-routes"


def by_sql(ground: Ground) -> dict[str, float]:
    """By an expression that tasks compute."""
    return {BY_SQL: walk(_routed(ground, "lower(trim(game_name))"))[DEMUX]}


def by_spark(ground: Ground) -> dict[str, float]:
    """By one that only Spark computes: a column travels through the JVM."""
    return {BY_SPARK: walk(_routed(ground, "replace(lower(game_name), ' ', '_')"))[DEMUX]}


def several(ground: Ground) -> dict[str, float]:
    """By two routes that name the same table of each row, which is there once."""
    return {SEVERAL: walk(_routed(ground, "game_name", "lower(trim(game_name))"))[DEMUX]}


def _routed(ground: Ground, *sqls: str) -> Ground:
    routes = tuple(Route(sql=sql, keys=ground.feed.keys) for sql in sqls)
    own = {"route": None, "routes": routes}
    return replace(ground, feed=ground.feed.model_copy(update=own))
