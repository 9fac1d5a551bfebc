"""Which part of its source a batch of ingest takes, in words and to go by."""

import json

from lake_assets.delta.source_offsets import as_json, from_json
from lake_assets.model.origins import ByPlace, Place
from lake_assets.state.batch_strikes import BatchRange

_MOST_NAMED = 5
"""Partitions that are named in words; of a hundred topics they would fill a screen."""


def batch_range(before: ByPlace, reached: ByPlace) -> BatchRange:
    """The batch between some offsets, by name and partition."""
    is_one = len({name for name, _ in reached}) == 1
    parts = [
        f"offsets {before.get(place, 0)} to {end - 1} of partition {place[1]}"
        + ("" if is_one else f" of {place[0]}")
        for place, end in sorted(reached.items())
        if before.get(place, 0) < end
    ]
    more = len(parts) - _MOST_NAMED
    words = [*parts[:_MOST_NAMED], *([f"and of {more} more partitions"] if more > 0 else [])]
    return BatchRange(begin=_text(before), end=_text(reached), words=", ".join(words) or "no rows")


def offsets_of(text: str) -> dict[Place, int]:
    """What `BatchRange.begin` and `.end` say, by name and partition.

    Of the text of an earlier release, which told partitions of one source alone, nothing: such a
    batch counts as another one.
    """
    found = json.loads(text)
    if any(isinstance(offset, int) for offset in found.values()):
        return {}
    return from_json(found)


def _text(offsets: ByPlace) -> str:
    # Without those at 0: a topic that comes while a batch is tried again makes it no other batch.
    return json.dumps(as_json({place: at for place, at in sorted(offsets.items()) if at}))
