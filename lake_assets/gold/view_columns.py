"""Which columns of silver a view may read, told by the words of its keys and measures.

Nothing is parsed: a name that is a part of what is written counts as read.
"""

import re
from dataclasses import dataclass

from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView

_COUNT = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
_STAR = re.compile(r"(?:[(,.]|\bdistinct|\ball)\s*\*(?!/)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ViewColumns:
    """What a view's expressions say of silver's columns."""

    texts: tuple[str, ...] | None = None
    """Expressions over silver; None if all columns are read."""

    def may_have(self, column: str) -> bool:
        """Whether they may read a column; Spark SQL ignores case, and doubles a quoted ` ."""
        if self.texts is None:
            return True
        name = re.compile(rf"(?<!\w){re.escape(column)}(?!\w)", re.IGNORECASE)
        return any(name.search(text.replace("``", "`")) for text in self.texts)


def view_columns_of(feed: Feed, view: GoldView) -> ViewColumns:
    """What a view of keys and measures, or of windows, reads of silver; others may read all."""
    if view.sql is not None or view.keyed is not None:
        return ViewColumns()
    texts = _texts(feed, view)
    has_star = any(_STAR.search(_COUNT.sub("", text)) for text in texts)
    return ViewColumns() if has_star else ViewColumns(texts)


def _texts(feed: Feed, view: GoldView) -> tuple[str, ...]:
    route = [feed.route_column] if feed.route_column else []
    time = [view.windows.time] if view.windows else []
    return (*view.key_expressions.values(), *view.measures.values(), *route, *time)
