"""Feeds of many shapes in one lake, and the events that each gets, for a person who is erased.

`test_erased_shapes` streams them together: one command for all costs what one for each would.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Producer

from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.events import Topic

ANN, BOB, CYD = "ann-7f3a-41c0", "bob-11aa-90ee", "cyd-22bb-73dd"

NUMBER = 700_123_457
"""Ann's, where ids are whole numbers."""

MASKING_KEY = "a key of sixteen or more"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A feed, and its events before the erasure and after it."""

    declared: str
    """Beside its name and its source."""

    before: Sequence[object]
    """Values; bytes as they are, and pairs with their key at the source."""

    after: Sequence[object]
    columns: str = "gamer_id string, game string, n int"
    payload: str = ""
    """More of what is said of JSON."""

    def text(self, name: str, topic: Topic) -> str:
        """The feed's file."""
        payload = f'{{json: {{schema: "{self.columns}"{self.payload}}}}}'
        source = f"{{kafka: {{topic: {topic.name}}}}}"
        return f"feed: {name}\nsource: {source}\npayload: {payload}\n{self.declared}\n"


def send(topic: Topic, values: Sequence[object]) -> None:
    """Put values into one partition, in their order."""
    producer = Producer(client_config(topic.endpoints))
    for number, one in enumerate(values):
        key, value = one if isinstance(one, tuple) else (str(number), one)
        raw = value if isinstance(value, bytes | None) else json.dumps(value).encode()
        producer.produce(topic.name, raw, key=key, partition=0)
    assert producer.flush(60) == 0


def event(gamer: object, game: str = "", n: object = 1, **more: object) -> dict[str, object]:
    return {"gamer_id": gamer, "game": game, "n": n, **more}


def _both(
    *games: str, gamers: Sequence[object] = (ANN, BOB), **more: object
) -> list[dict[str, object]]:
    return [event(gamer, game, **more) for game in games for gamer in gamers]


_COUNTS = "gold: [{name: agg, keys: [gamer_id], measures: {n: count(*)}}]"


def _route(name: str) -> str:
    return f"route: {{column: game, keys: [{name}_x, {name}_y]}}\n"


def _events_of(name: str) -> tuple[list[object], list[object]]:
    x, y = f"{name}_x", f"{name}_y"
    bad = [b"bad " + ANN.encode(), b"bad", *_both("no_key")]
    return [*_both(x, y, x, gamers=(ANN, BOB, CYD)), *bad], [*_both(x, gamers=(ANN, BOB, CYD))]


def _plain(name: str, declared: str, **more: str) -> Shape:
    before, after = _events_of(name)
    return Shape(declared=_route(name) + declared, before=before, after=after, **more)


def _changes(*told: tuple[object, int, str]) -> list[object]:
    return [{"gamer_id": gamer, "n": n, "op": op} for gamer, n, op in told]


_KEYED = "{by: gamer_id, order: n, deletes: op = 'd'%s}"


def _resent(gamer: str, event_id: str, minute: int) -> dict[str, object]:
    return {"gamer_id": gamer, "event": event_id, "at": f"2026-11-01T00:0{minute}:00Z"}


def _basket(*items: tuple[str, str, int], **more: object) -> dict[str, object]:
    named = [dict(zip(("who", "game", "n"), item, strict=True)) for item in items]
    return {"items": named, **more}


_EXPLODES = """select: [explode(items) as item, item.who as gamer_id, item.game as game, _rescued]
route: {column: game, keys: [basket_x, basket_y]}
expectations: [{name: is_small, sql: item.n < 9, action: quarantine}]
"""


def shapes(api: str) -> Mapping[str, Shape]:
    """All, by the names of their feeds.

    Args:
        api: that refuses what sinks send.
    """
    sinks = f"""{_COUNTS}
sinks:
  - {{name: rows, from: silver, rest: {{url: "{api}/sessions", allow_private: true}}}}
  - {{name: view, from: gold.agg, rest: {{url: "{api}/sessions", allow_private: true}}}}"""
    return {
        "plain": _plain("plain", f"partition_by: [n]\n{_COUNTS}"),
        "other": Shape(
            declared="into: plain\nselect: [who as gamer_id, game, n]\nwhere: n < 5",
            columns="who string, game string, n int",
            before=[
                {"who": who, "game": game, "n": n}
                for who in (ANN, BOB)
                for game, n in (("plain_x", 1), ("plain_y", 9), ("no_key", 1))
            ],
            after=[{"who": who, "game": "plain_x", "n": 2} for who in (ANN, BOB)],
        ),
        "several": Shape(
            declared="routes:\n- {column: game, keys: [sev_x, sev_y]}\n"
            "- {column: also, keys: [sev_x, sev_z]}",
            columns="gamer_id string, game string, also string",
            before=[*_both("sev_x", also="sev_z"), *_both("sev_y"), *_both("sev_x", also="no")],
            after=_both("sev_x", also="sev_z"),
        ),
        "keyed": Shape(
            declared=f"keyed: {_KEYED % ', except_columns: [op]'}\n"
            f"gold: [{{name: history, keyed: {_KEYED % ', history: 2'}, refresh: 1m}}]",
            columns="gamer_id string, n int, op string",
            before=_changes(
                (ANN, 1, "u"), (BOB, 1, "u"), (ANN, 2, "d"), (BOB, 2, "d"), (BOB, 3, "u")
            ),
            after=_changes((ANN, 9, "u"), (BOB, 9, "u")),
        ),
        "compacted": Shape(
            declared="keyed: {by: gamer_id, order: _offset, tombstones: true}",
            columns="gamer_id string, n int",
            before=[(ANN, event(ANN)), (BOB, event(BOB)), (ANN, None), (CYD, event(CYD))],
            after=[(ANN, event(ANN)), (ANN, None), (BOB, event(BOB))],
        ),
        "refused": Shape(  # who produces tombstones to a feed that takes none
            declared="",
            before=[event(ANN), event(BOB), (ANN, None), (BOB, None)],
            after=[event(BOB)],
        ),
        "resent": Shape(
            declared="deduplicate: {key: [event], within: 1h, time: at}",
            columns="gamer_id string, event string, at timestamp",
            before=[
                *(_resent(gamer, gamer[:1], 0) for gamer in (ANN, BOB, ANN, BOB)),
                _resent(ANN, "b", 1),
                _resent(BOB, "a", 1),
            ],
            after=[_resent(ANN, "a", 2), _resent(BOB, "b", 2), _resent(BOB, "c", 2)],
        ),
        "hashed": _plain("hashed", f"mask: {{gamer_id: hash}}\n{_COUNTS}"),
        "renamed": _plain("renamed", "select: [gamer_id as who, game, md5(gamer_id) as by_spark]"),
        "made": _plain("made", "transform: lake_assets_tests.e2e.transforms:greet"),
        "numbers": Shape(
            declared="expectations: [{name: is_small, sql: n < 5, action: drop}]",
            columns="gamer_id bigint, n int",
            before=[
                *_both("", gamers=(NUMBER, 2)),
                *_both("", gamers=(NUMBER, 2), n=7),
                event(str(NUMBER)),
                f"bad {NUMBER}".encode(),
            ],
            after=[*_both("", gamers=(NUMBER, 2)), event(str(NUMBER)), event([NUMBER])],
        ),
        "baskets": Shape(
            declared=_EXPLODES,
            columns="items array<struct<who: string, game: string, n: int>>",
            payload=", on_unknown: rescue",
            before=[
                _basket((ANN, "basket_x", 1), (BOB, "basket_y", 1), (BOB, "basket_x", 1)),
                _basket((BOB, "basket_x", 9), (ANN, "basket_x", 1)),
                _basket((BOB, "basket_x", 9)),
                _basket((BOB, "basket_x", 3), (BOB, "basket_y", 3), gamer_id=ANN),
            ],
            after=[_basket((ANN, "basket_x", 4), (BOB, "basket_y", 4))],
        ),
        "sent": _plain("sent", sinks),
    }
