"""The last word: Spark's own analyser over no rows that have the columns there will be.

It tells what the quick judge cannot: types, numbers of arguments, what is grouped. What it takes is
right, whatever the quick judge said; where both refuse, the quick judge's words are kept, which
tell the nearest right name.
"""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from lake_assets.feeds.document import Loc
from lake_assets.model.gold_views import GoldView
from lake_assets.validation.quick import Problem
from lake_assets.validation.rows_by_spark import RowsOfFeed
from lake_assets.validation.run import Judged
from lake_assets.validation.views_by_spark import ViewOfFeed


def judge_by_spark(
    session: SparkSession, judged: Sequence[Judged]
) -> Mapping[str, Sequence[Problem]]:
    """By feed, what is wrong with it after all."""
    tables = {one.file.feed.feed: RowsOfFeed(session, one) for one in judged}
    views: dict[tuple[str, str], DataFrame] = {}
    verdicts: dict[str, dict[Loc, Problem | None]] = {}
    for name, one in tables.items():
        verdicts[name] = dict(one.rows())
    for name, view in _in_order(judged):
        verdicts[name] |= dict(ViewOfFeed(tables, views, name, view).verdicts())
    for name, one in tables.items():
        verdicts[name] |= dict(one.of_sinks(views))
    return {
        one.file.feed.feed: _together(one.problems, verdicts[one.file.feed.feed]) for one in judged
    }


def _together(
    quick: Sequence[Problem], verdicts: Mapping[Loc, Problem | None]
) -> Sequence[Problem]:
    """What both said of the same texts; what Spark was not asked about stays as it is."""
    kept = [one for one in quick if _is_kept(one, verdicts)]
    told = {tuple(one.loc) for one in kept}
    new = [one for loc, one in verdicts.items() if one is not None and loc not in told]
    return [*kept, *new]


def _is_kept(quick: Problem, verdicts: Mapping[Loc, Problem | None]) -> bool:
    """Whether Spark refuses the text, too, and knows no better why."""
    if tuple(quick.loc) not in verdicts:
        return True
    verdict = verdicts[tuple(quick.loc)]
    return verdict is not None and (quick.is_sure or "does not parse" in verdict.fact)


def _in_order(judged: Sequence[Judged]) -> Iterator[tuple[str, GoldView]]:
    """All views, each after those that it reads."""
    left = [(one.file.feed.feed, view) for one in judged for view in one.file.feed.gold]
    done: set[tuple[str, str]] = set()
    while left:
        waiting = {(name, view.name) for name, view in left}
        ready = [
            (name, view)
            for name, view in left
            if not any(((s.feed or name), s.view) in waiting for s in view.sources if s.view)
        ]
        if not ready:
            return  # those that read each other in turn, which is told elsewhere
        yield from ready
        done |= {(name, view.name) for name, view in ready}
        left = [one for one in left if (one[0], one[1].name) not in done]
