"""Which part of its source a batch of ingest takes, in words and to go by."""

import json
from collections.abc import Mapping

from lake_assets.state.batch_strikes import BatchRange


def batch_range(before: Mapping[int, int], reached: Mapping[int, int]) -> BatchRange:
    """The batch between some offsets, by partition."""
    parts = [
        f"offsets {before.get(partition, 0)} to {end - 1} of partition {partition}"
        for partition, end in sorted(reached.items())
        if before.get(partition, 0) < end
    ]
    return BatchRange(begin=_text(before), end=_text(reached), words=", ".join(parts) or "no rows")


def offsets_of(text: str) -> dict[int, int]:
    """What `BatchRange.begin` and `.end` say, by partition."""
    return {int(partition): int(offset) for partition, offset in json.loads(text).items()}


def _text(offsets: Mapping[int, int]) -> str:
    return json.dumps({str(partition): at for partition, at in sorted(offsets.items())})
