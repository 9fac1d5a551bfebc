"""Refreshing gold: the views of all asked-for games brought up to date, then one commit a game.

A game whose silver only gained rows is read from where its gold stands, and merged with it: by
`gold.nearby` if both are small, else by Spark. The others are recomputed in full, in the same job.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter

from pyspark.sql import SparkSession

from lake_assets.gold.catchup import Brought, catch_up, open_all, report_of
from lake_assets.gold.ends import End, ends_of, near_of
from lake_assets.gold.job import compute
from lake_assets.gold.nearby import merge_nearby
from lake_assets.gold.recipe import Recipe, recipe_of
from lake_assets.lake.means import Means
from lake_assets.lake.owners import claim
from lake_assets.lake.read import columns_of_all
from lake_assets.model.feeds import Feed, GoldView
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import Judged, Mode, RefreshReport
from lake_assets.model.tables import gold_of


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
    or have no silver yet are left alone, and so are those that are `blocked`, by game and why. A
    game's position is in its commit, so a refresh that dies between two commits is taken up by the
    next one, and one that runs twice from the same position is refused the second time.

    Raises:
        CommitConflictError: somebody else changed a gold table meanwhile.
        ExpectationFailedError: rows violate an expectation of the view that fails; no game of the
            view is changed.
        FeedError: a key, a measure or an expectation of the view does not compile.
        LakeError: the lake cannot be read or written.
        TableOwnedError: a game's table is there, and is another feed's, game's or view's.
    """
    phases, blocked = _Phases(), blocked or {}
    for game in games:
        claim(means.lake, gold_of(game, view.name), owner_of_view(feed, view.name, game))
    ends = {} if anew else ends_of(view, games, means)
    current = {game for game, end in ends.items() if not end.source.is_behind}
    asked = [end for game, end in ends.items() if game not in current and game not in blocked]
    done = _merge_near(session, view, asked, means, phases)
    merged = {one.work.source.game for one in done}
    opened = open_all(view, [g for g in games if g not in current and g not in merged], means)
    wanting = [one for one in opened if anew or one.source.is_behind]
    lacking = {one.source.game for one in wanting}
    current |= {one.source.game for one in opened} - lacking
    held = lacking & blocked.keys()
    rest = [one for one in wanting if one.source.game not in held]
    judged: Mapping[tuple[str, str], Judged] = {}
    if rest:
        silver = columns_of_all([one.silver for one in rest])
        recipe = recipe_of(session, feed, view, silver)
        work = catch_up(view, recipe.columns, recipe.why_full, rest, means, anew=anew)
        phases.end("plan")
        computed = compute(session, recipe, silver, work, means)
        phases.end("job")
        _commit(computed.brought, recipe, feed, means)
        phases.end("commit")
        done, judged = [*done, *computed.brought], computed.judged
    by_game = {one.work.source.game: report_of(one, view) for one in done}
    return RefreshReport(
        refreshed=tuple(by_game[game] for game in games if game in by_game),
        up_to_date=tuple((game, view.name) for game in games if game in current),
        judged=judged,
        blocked={game: blocked[game] for game in games if game in held},
        seconds=phases.seconds,
    )


def _merge_near(
    session: SparkSession, view: GoldView, ends: Sequence[End], means: Means, phases: "_Phases"
) -> list[Brought]:
    near = near_of(view, ends, means)
    phases.end("plan")
    if not near:
        return []
    merged = merge_nearby(session, view, near, means)
    phases.end("job")
    means.door.exchange([one.commit for one in merged])
    phases.end("commit")
    return merged


def _commit(brought: Sequence[Brought], recipe: Recipe, feed: Feed, means: Means) -> None:
    view, columns = recipe.view.name, recipe.columns
    owners = {
        one.commit.table: owner_of_view(feed, view, one.work.source.game)
        for one in brought
        if one.work.is_first
    }
    means.door.create(dict.fromkeys(owners, columns), owners=owners)
    full = [one.commit for one in brought if one.work.mode is Mode.FULL]
    means.door.replace(full, columns)
    means.door.exchange([one.commit for one in brought if one.work.mode is not Mode.FULL])


class _Phases:
    """Seconds by phase, each of which may come again."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = perf_counter()

    def end(self, phase: str) -> None:
        """What was done since the last end was of this phase."""
        now = perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._since
        self._since = now
