"""Views' tables and sinks of them, for tests of any sink."""

import json

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from lake_assets.model.gold_views import GoldView
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import gold_of_all
from lake_assets_tests.sample import GAMES, gold_of

SCHEMA = pa.schema([("gamer_id", pa.string()), ("score", pa.int64()), ("_state_x", pa.int64())])

VIEWS = (
    GoldView(name="best", keys=("gamer_id",), measures={"score": "max(score)"}),
    GoldView(name="ranks", sql="select gamer_id, score from silver_all"),
)


def view_sink(declared, *, view="best", **changes):
    """The feed with one sink of a view."""
    sink = Sink.model_validate({"name": "out", "from": f"gold.{view}", **declared, **changes})
    feed = GAMES.model_copy(update={"gold": VIEWS})
    return type(feed).model_validate({**feed.model_dump(by_alias=True), "sinks": (sink,)})


def to_api(url, *, view="best", rest=None, **changes):
    """To an API."""
    declared = {"url": f"{url}/sessions", "allow_private": True, "timeout": "2s"}
    return view_sink({"rest": {**declared, **(rest or {})}}, view=view, **changes)


def folder_of(settings, key="uno", view="best"):
    """Where a view's table is."""
    table = gold_of_all("games", view) if key is None else gold_of(key, view)
    return settings.lake_dir / table.relative


def refresh(settings, scores, key="uno", view="best", *, schema=SCHEMA):
    """Write a view's rows anew, as a refresh does: also those that are what they were.

    Args:
        settings: where the lake is.
        scores: by player, or pairs of them, or rows.
        key: whose table; None of a view over all.
        view: whose.
        schema: of the rows.
    """
    pairs = scores.items() if isinstance(scores, dict) else scores
    rows = [
        one if isinstance(one, dict) else {"gamer_id": one[0], "score": one[1], "_state_x": number}
        for number, one in enumerate(pairs)
    ]
    table = pa.Table.from_pylist(rows, schema=schema)
    folder = folder_of(settings, key, view)
    write_deltalake(folder, table, mode="overwrite", schema_mode="overwrite")
    return DeltaTable(folder)


def sent(api):
    """What the API took, in its order."""
    calls = [call for call in api.calls() if not call["fault"]]
    return [row for call in calls for row in json.loads(call["body"])]
