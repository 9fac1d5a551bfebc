"""Which gold views are behind their silver, by Delta logs alone: cheap enough for every tick."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deltalake.exceptions import DeltaError

from lake_assets.errors import LakeError
from lake_assets.gold.blocks import blocked_games
from lake_assets.gold.plan import is_behind
from lake_assets.lake.catalog import games_of
from lake_assets.lake.failing import Failures
from lake_assets.lake.history import committed_at, last_info, open_table
from lake_assets.lake.standing import Position, position_from
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import gold_of, silver_of


@dataclass(frozen=True, kw_only=True, slots=True)
class _Standing:
    """One game's view beside its silver."""

    view: str
    game: str
    silver_version: int
    position: Position | None


def views_behind(
    lake: Path, feed: Feed, failures: Failures | None = None
) -> dict[str, tuple[str, ...]]:
    """By view of the feed, the games whose silver has moved on since its last refresh.

    Games that something blocking among `failures` holds up are left out.

    Raises:
        LakeError: a table's log cannot be read.
    """
    found = list(_standings(lake, feed))
    blocked = blocked_games(feed, failures or {}, {one.game: one.silver_version for one in found})
    behind: dict[str, tuple[str, ...]] = {view.name: () for view in feed.gold}
    for one in found:
        if one.game not in blocked:
            behind[one.view] += (one.game,)
    return behind


def behind_since(lake: Path, feed: Feed) -> dict[str, Mapping[str, float]]:
    """By view and game, since when silver has had something that the view lacks.

    The time is that of silver's first commit after the one that the view stands for, or 0 if the
    log has forgotten it; seconds since 1970. A view that only its definition puts behind is left
    out, since nothing tells when that changed.

    Raises:
        LakeError: a table's log cannot be read.
    """
    since: dict[str, dict[str, float]] = {view.name: {} for view in feed.gold}
    for found in _standings(lake, feed):
        lacking = found.position.silver_version + 1 if found.position else 0
        if lacking <= found.silver_version:
            at = committed_at(lake, silver_of(found.game), lacking)
            since[found.view][found.game] = at or 0.0
    return dict(since)


def _standings(lake: Path, feed: Feed) -> Iterator[_Standing]:
    """The views that are behind."""
    try:
        for game in games_of(lake, feed):
            silver = open_table(lake, silver_of(game))
            if silver is None:
                continue
            for view in feed.gold:
                gold = open_table(lake, gold_of(game, view.name))
                position = position_from(last_info(gold)) if gold else None
                if is_behind(view, silver.version(), position, str(silver.metadata().id)):
                    yield _Standing(
                        view=view.name,
                        game=game,
                        silver_version=silver.version(),
                        position=position,
                    )
    except (DeltaError, OSError) as problem:
        reason = str(problem).strip().partition("\n")[0]
        raise LakeError(
            str(lake), f"a table's log cannot be read ({reason})", "Check the folder and the disk"
        ) from problem
