"""Changes of rows for tests of keyed tables, and a plain reading of what they come to."""

from itertools import groupby

import pyarrow as pa

from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed import Keyed
from lake_assets_tests.columns import ORIGIN
from lake_assets_tests.sample import GAMES

NEWEST = Keyed(by="id", order="version", deletes="op = 'D'", truncates="op = 'T'")
ALL = Keyed(by="id", order="version", deletes="op = 'D'", history=2)

SCHEMA = pa.schema(
    [
        ("game_name", pa.string()),
        ("id", pa.int64()),
        ("version", pa.int64()),
        ("op", pa.string()),
        ("value", pa.string()),
        *ORIGIN,
    ]
)


def feed_of(*views: GoldView) -> Feed:
    """A feed of changes with these views, and what they bring along."""
    declared = GAMES.model_dump(include={"source", "payload", "route"})
    return Feed.model_validate(
        {"feed": "games", **declared, "gold": [view.model_dump() for view in views]}
    )


CURRENT = GoldView(name="current", keyed=NEWEST)
HISTORY = GoldView(name="history", keyed=ALL)
FEED = feed_of(CURRENT, HISTORY)


def rows_of(changes, key="uno"):
    """Changes `(id, version, op, value, offset)` as silver's rows."""
    names = ("id", "version", "op", "value", "_offset")
    rows = [
        {"game_name": key, "_topic": "t", "_partition": 0, **dict(zip(names, one, strict=True))}
        for one in changes
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def newest_of(changes):
    """`(id, version, value, offset)` of the rows that there are after all changes, sorted."""
    told = [c for c in changes if c[1] is not None]
    truncated = max(((c[1], c[4]) for c in told if c[2] == "T"), default=(-1, -1))
    rows = {}
    for change in sorted((c for c in told if c[2] != "T"), key=lambda c: (c[1], c[4])):
        rows[change[0]] = change
    return sorted(
        (c[0], c[1], c[3], c[4])
        for c in rows.values()
        if c[0] is not None and c[2] != "D" and (c[1], c[4]) > truncated
    )


def history_of(changes):
    """`(id, start, end, value, offset)` of all versions after all changes, sorted."""
    told = sorted(
        (c for c in changes if c[0] is not None and c[1] is not None),
        key=lambda c: (c[0], c[1], c[4]),
    )
    found = []
    for _, of_row in groupby(told, key=lambda c: c[0]):
        last = [[*group][-1] for _, group in groupby(of_row, key=lambda c: c[1])]
        ends = [*(c[1] for c in last[1:]), None]
        found += [
            (c[0], c[1], end, c[3], c[4]) for c, end in zip(last, ends, strict=True) if c[2] != "D"
        ]
    return found
