"""Which keys of a view a refresh brings up to date, how long its phases took, and what it reports.

What a view of measures sees before it opens tables is `gold.refresh`'s own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from lake_assets.gold.refresh_plan import Opened, open_all
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Judged, RefreshReport, ViewRefresh
from lake_assets.spark.lake_context import LakeContext


class Phases:
    """Seconds by phase, each of which may come again."""

    def __init__(self) -> None:
        """The first phase begins now."""
        self.seconds: dict[str, float] = {}
        self._since = perf_counter()

    def end(self, phase: str) -> None:
        """What was done since the last end was of this phase."""
        now = perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._since
        self._since = now


@dataclass(frozen=True, kw_only=True, slots=True)
class KeysBehind:
    """The keys asked for that have silver, opened, and which of them are not up to date."""

    view: str
    opened: Sequence[Opened]
    lacking: frozenset[str]
    """Keys whose view stands for less than their silver has, or is to be computed anew."""

    blocked: Mapping[str, str]
    """By key and why, whichever were asked for."""

    @property
    def rest(self) -> list[Opened]:
        """Those that are brought up to date."""
        wanted = self.lacking - self.blocked.keys()
        return [one for one in self.opened if one.source.key in wanted]

    def report(
        self,
        refreshed: Sequence[ViewRefresh] = (),
        judged: Mapping[tuple[str, str], Judged] | None = None,
        seconds: Mapping[str, float] | None = None,
    ) -> RefreshReport:
        """What became of them."""
        current = [one.source.key for one in self.opened if one.source.key not in self.lacking]
        return RefreshReport(
            refreshed=tuple(refreshed),
            up_to_date=tuple((key, self.view) for key in current),
            judged=judged or {},
            blocked={key: why for key, why in self.blocked.items() if key in self.lacking},
            seconds=seconds or {},
        )


def keys_behind(
    feed: Feed,
    view: GoldView,
    keys: Sequence[str],
    context: LakeContext,
    blocked: Mapping[str, str],
    *,
    full_refresh: bool,
) -> KeysBehind:
    """Open the keys' tables, and see which are behind; all are if `full_refresh`."""
    opened = open_all(feed, view, keys, context)
    lacking = {one.source.key for one in opened if full_refresh or one.source.is_behind}
    return KeysBehind(view=view.name, opened=opened, lacking=frozenset(lacking), blocked=blocked)
