"""The rows of a range of offsets: what leaves a table that is derived again."""

from dataclasses import dataclass

from lake_assets.delta.origins import Before, Both, Everything, From, NotIn, RowSet, Within
from lake_assets.delta.source_offsets import Offsets
from lake_assets.model.origins import OriginColumns, Spans


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """The rows between some offsets, in each partition; all rows where neither is given."""

    starts: Offsets | None = None
    ends: Offsets | None = None
    retained: Offsets | None = None
    """In each partition, the rows below stay: nobody has what they were derived from."""

    apart: Spans | None = None
    """Rows that stay as well: bronze refused them, and quarantine or silver has them."""

    @property
    def is_all(self) -> bool:
        """Whether whatever can be derived again is in it."""
        return self.starts is None and self.ends is None

    def rows(self, origin: OriginColumns) -> RowSet:
        """The set."""
        found = self._bounded(origin)
        return Both(found, NotIn(Within(self.apart, origin))) if self.apart else found

    def _bounded(self, origin: OriginColumns) -> RowSet:
        if self.is_all and not self.retained:
            return Everything()
        starts = Everything() if self.starts is None else From(self.starts, origin)
        ends = Everything() if self.ends is None else Before(self.ends, origin)
        both = Both(starts, ends)
        return Both(both, NotIn(Before(self.retained, origin))) if self.retained else both


NOTHING = Range(ends={})
"""No rows: nothing leaves a table that only gets some."""
