"""What keyed tables bring along: views beside them, and what their rows are judged by. Pure.

A keyed table holds no row that was deleted, so what deletes and truncates were is a view of its
own, merged like any other. A change that is older than a delete, and comes later, is told by it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed import History, Keyed
from lake_assets.model.origins import OriginColumns
from lake_assets.model.routes import Route
from lake_assets.model.tombstones import refuse_untold_tombstones

LAST_DELETE, LAST_TRUNCATE = "last_delete", "last_truncate"
"""Columns of a view of deletes: where the last one was."""

DELETED = "deleted"
"""Column of a view of deletes of a history: what `order` the delete has."""

_NAMES = {History.NEWEST: "current", History.ALL: "history"}


def view_of(keyed: Keyed) -> GoldView:
    """The view that `keyed` of a feed is short for."""
    return GoldView(
        name=_NAMES[keyed.history],
        description="The rows that silver's changes come to.",
        keyed=keyed,
        refresh=timedelta(0),
    )


def name_of_deletes(keyed_table: str) -> str:
    """What the view beside a keyed table is called."""
    return f"{keyed_table}_deletes"


def deletes_of(view: GoldView, identity: tuple[str, ...]) -> GoldView | None:
    """The view that remembers what a keyed table's deletes and truncates were.

    It has a row for each row that was ever deleted; of a history, for each of its deletes. One more
    row, of null, has the last truncate.

    Args:
        view: of any kind.
        identity: silver's columns with the origin of a row.

    Raises:
        ValueError: a column of `by` has the name of another of the view's.
    """
    keyed = view.keyed
    if keyed is None or not keyed.removes:
        return None
    _refuse_names_of_deletes(view.name, keyed)
    place = keyed.place(identity)
    condition = f"{keyed.is_delete} and {keyed.is_complete}"
    keys = {name: f"case when {condition} then `{name}` end" for name in keyed.by}
    if keyed.history is History.ALL:
        keys[DELETED] = f"case when {condition} then {keyed.order_value} end"
    measures = {LAST_DELETE: f"max({place}) filter (where {condition})"}
    if keyed.truncates:
        condition = f"{keyed.is_truncate} and {keyed.is_complete}"
        measures[LAST_TRUNCATE] = f"max({place}) filter (where {condition})"
    return GoldView(
        name=name_of_deletes(view.name),
        description=f"What `{view.name}` must remember of deletes, of which it has no rows.",
        keys=keys,
        measures=measures,
        refresh=view.refresh,
        schedule=view.schedule,
    )


def with_deletes(views: Iterable[GoldView], identity: tuple[str, ...]) -> tuple[GoldView, ...]:
    """The views, and after them those that their keyed tables need, each once.

    Raises:
        ValueError: another view has the name of one of these; as `deletes_of`.
    """
    all_views = list(views)
    for view in tuple(all_views):
        needed = deletes_of(view, identity)
        if needed is None or needed in all_views:
            continue
        if any(other.name == needed.name for other in all_views):
            message = f"gold: {view.name} needs a view {needed.name}\ncall the other one otherwise"
            raise ValueError(message)
        all_views.append(needed)
    return tuple(all_views)


def _refuse_names_of_deletes(keyed_table: str, keyed: Keyed) -> None:
    taken = [name for name in keyed.by if name in {LAST_DELETE, LAST_TRUNCATE, DELETED}]
    if taken:
        message = f"by: {taken[0]} is a column of {name_of_deletes(keyed_table)}\ngive silver's "
        message += f"another name with `select`: {taken[0]} as {taken[0]}_of_row"
        raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyedParts:
    """What a feed has by its keyed tables; nothing if it has none."""

    views: tuple[GoldView, ...] = ()
    """All of the feed's views, with those that keyed tables bring."""

    refusals: tuple[Expectation, ...] = ()
    """Of rows that change nothing."""

    def missing_from(self, given: Collection[Expectation]) -> tuple[Expectation, ...]:
        """The refusals that are not given already."""
        return tuple(one for one in self.refusals if one not in given)


def keyed_parts(
    keyed: Keyed | None,
    gold: Iterable[GoldView],
    origin: OriginColumns,
    routes: Iterable[Route],
    *,
    has_ages: bool,
) -> KeyedParts:
    """What a feed's keyed tables bring along.

    Args:
        keyed: of the feed.
        gold: its views.
        origin: its source's columns.
        routes: what says where a row goes.
        has_ages: whether rows leave silver for their age.

    Raises:
        ValueError: rows leave silver, tombstones would not tell what they delete, or two views
            would have one name.
    """
    short = [view_of(keyed)] if keyed else []
    gold = tuple(gold)
    views = [*gold, *(view for view in short if view not in gold)]
    if not any(view.keyed for view in views):
        return KeyedParts()
    if has_ages:
        message = "retention: a keyed table is what all changes come to, so silver keeps them"
        raise ValueError(message)
    refuse_untold_tombstones(views, origin, tuple(routes))
    return KeyedParts(
        views=with_deletes(views, origin.in_silver.identity),
        refusals=tuple(view.keyed.expectation(view.name, origin) for view in views if view.keyed),
    )
