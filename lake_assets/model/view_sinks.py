"""Sinks of views: by which columns rows are told apart, and what a feed's views must have."""

import re
from collections.abc import Sequence

from lake_assets.model.gold_views import WINDOW_END, WINDOW_START, GoldView
from lake_assets.model.keyed import START, History
from lake_assets.model.sinks import Sink, refuse_loops
from lake_assets.model.sources import Source
from lake_assets.model.unique_names import refuse_twins

DECLARE_IT = "write the name of one that there is, or declare it"
"""What to do about the name of a view or a feed that is not there."""


def row_key_of(sink: Sink, view: GoldView) -> tuple[str, ...]:
    """Columns by which rows of one of the view's tables are told apart; none if whole rows are."""
    if sink.key:
        return sink.key
    if view.keyed is not None:
        return (*view.keyed.by, *([START] if view.keyed.history is History.ALL else []))
    if view.sql is not None:
        return ()
    return (*((WINDOW_START, WINDOW_END) if view.windows else ()), *view.keys)


def ensure_sinks_fit(
    sinks: Sequence[Sink], source: Source, views: Sequence[GoldView], *, key_column: str | None
) -> None:
    """Make sure that sinks have names of their own, views what theirs ask, and none its own rows.

    Args:
        sinks: of a feed.
        source: of the same.
        views: of the same.
        key_column: what rows of a view of a table a key have beside their own columns.

    Raises:
        ValueError: one has not.
    """
    refuse_twins("sinks", [sink.name for sink in sinks])
    refuse_loops(sinks, source)
    named = {view.name: view for view in views}
    for sink in sinks:
        if sink.view is None:
            continue
        view = named.get(sink.view)
        if view is None:
            there = ", ".join(named) or "none"
            fact = f"the feed has no gold view {sink.view!r}; it has {there}"
            message = f"sink {sink.name}: {fact}\n{DECLARE_IT}"
            raise ValueError(message)
        missing = [name for name in sink.key if view.columns and name not in view.columns]
        if missing:
            message = f"sink {sink.name}: key: view {view.name} has no column {missing[0]}"
            raise ValueError(message)
        if sink.deletes:
            _ensure_deletes_fit(sink, view, None if view.is_over_all else key_column)


def _ensure_deletes_fit(sink: Sink, view: GoldView, key_column: str | None) -> None:
    """Refuse deletes that would take rows along which are still there."""
    key = row_key_of(sink, view)
    if not key and (sink.sql is not None or sink.kafka is not None):
        message = (
            f"sink {sink.name}: deletes: view {view.name} of sql has no keys\nname the columns "
            "that tell its rows apart as the sink's `key`"
        )
        raise ValueError(message)
    fields = sink.sql.key if sink.sql else ((sink.kafka.key,) if sink.kafka else ())
    told = [sink.select[name] if sink.select else name for name in fields if name]
    for column in (*([key_column] if key_column else ()), *key):
        if told and not any(_reads(sql, column) for sql in told):
            message = (
                f"sink {sink.name}: deletes: {', '.join(map(str, fields))} does not tell rows of "
                f"the view apart, which differ in {column}: a delete would take others along"
            )
            raise ValueError(message)


def _reads(sql: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", sql, re.IGNORECASE) is not None
