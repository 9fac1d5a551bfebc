"""Rows that are erased and that a source gives again: bronze is read anew, or was put back."""

from lake_assets.delta.origins import Within
from lake_assets.model.origins import ByPlace, OriginColumns, Spans


def erased_from(spans: Spans, starts: ByPlace, origin: OriginColumns) -> Within | None:
    """Those of erased rows that may come from some offsets on; None if none can.

    Args:
        spans: where a feed's rows were that are erased.
        starts: by name and partition, the offset to read next; 0 of those that are not told.
        origin: the columns that say where a row came from.
    """
    ahead = {
        place: its
        for place, its in spans.items()
        if any(end > starts.get(place, 0) for _, end in its)
    }
    return Within(ahead, origin) if ahead else None
