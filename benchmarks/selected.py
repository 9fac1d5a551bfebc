"""Demux whose keys select columns of their own: what that costs beside demux with one select."""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.ground import Ground
from benchmarks.ours import DEMUX, walk

PER_KEY = "demux-select-per-key"
ALIKE = "demux-select-per-key-alike"
BY_SPARK = "demux-select-per-key-by-spark"

_SAME_COLUMNS = (
    "* except (gamer_id, device_id)",
    "concat(left(gamer_id, 64), '/', trim(device_id), '{key}') as gamer_id",
    "if(device_id like '00:%', 'old', coalesce(nullif(device_id, ''), '{key}')) as device_id",
)
"""As many columns as without, two of them computed, as each key says."""


def per_key(ground: Ground) -> dict[str, float]:
    """Each key computes two columns in a way of its own."""
    return {PER_KEY: walk(_selecting(ground, _SAME_COLUMNS))[DEMUX]}


def alike(ground: Ground) -> dict[str, float]:
    """All keys compute them in the same way, each by its own select."""
    items = [item.replace("{key}", "key") for item in _SAME_COLUMNS]
    return {ALIKE: walk(_selecting(ground, items))[DEMUX]}


def by_spark(ground: Ground) -> dict[str, float]:
    """Each key's second column is one that only Spark computes."""
    items = [*_SAME_COLUMNS[:2], "concat(sha2(device_id, 256), '{key}') as device_id"]
    return {BY_SPARK: walk(_selecting(ground, items))[DEMUX]}


def _selecting(ground: Ground, items: Sequence[str]) -> Ground:
    selects = {key: tuple(item.replace("{key}", key) for item in items) for key in ground.feed.keys}
    return replace(ground, feed=ground.feed.model_copy(update={"selects": selects}))
