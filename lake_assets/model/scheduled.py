"""What follows for a feed from its `run`: whether the streams take it, and when else it runs."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from lake_assets.model.checks import Duration

Trigger = Annotated[Duration, Field(ge=timedelta(milliseconds=100), le=timedelta(hours=1))]
"""Below 100 ms the looks for new rows alone keep a core busy; above an hour it is no stream."""

MANUAL = "manual"
"""In place of a cron expression: the feed runs when somebody asks for it."""


class Scheduled:
    """The part of `model.feeds.Feed` that its `run` decides."""

    if TYPE_CHECKING:
        run: str | None

    @property
    def is_triggered(self) -> bool:
        """Whether it runs on a schedule or when asked, and not by the streams without pause."""
        return self.run is not None

    @property
    def schedule(self) -> str | None:
        """The cron expression of its runs; None if it has none."""
        return None if self.run == MANUAL else self.run
