"""What all parts of a benchmark share: what was asked for, the services, and one Spark session."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from benchmarks.ground import Ground
from benchmarks.peers import FEW_TABLES
from benchmarks.topic import Topic
from lake_assets.model.endpoints import Endpoints
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.spark.session import start_session

Announce = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a user may ask of a benchmark."""

    events: int = 2_000_000
    tables: tuple[int, ...] = (1, 10, 100, 1000)
    """Numbers of games, a topic each."""

    runs: int = 3
    """Rounds that count."""

    warm_up: bool = True
    """Whether a round that does not count comes before them."""

    only: tuple[str, ...] = ()
    """Measures; none means all the usual ones."""

    history: int = 20_000_000
    """Rows of silver that `refresh` begins with."""

    seconds: float = 60.0
    """How long `latency` and `cost` measure each rate, and `rest-sinks` each case."""

    rates: tuple[int, ...] = (2_000, 10_000)
    """Events a second that `latency` sends."""

    batches: int | None = None
    """How many batches `small-batches` runs; None is as many as take two or three minutes."""

    @property
    def some_tables(self) -> int:
        """The largest number of tables that every peer can have."""
        return max((n for n in self.tables if n <= FEW_TABLES), default=min(self.tables))


@dataclass(frozen=True)
class Venue:
    """Where a benchmark takes place."""

    settings: Settings
    endpoints: Endpoints
    options: Options
    announce: Announce
    stop: Callable[[], bool]

    @cached_property
    def session(self) -> SparkSession:
        """The one Spark session, started when it is first needed."""
        return start_session(self.settings, ensure_runtime(self.settings))

    def close(self) -> None:
        """Stop Spark if it was started."""
        if "session" in self.__dict__:
            self.session.stop()

    def lake(self) -> Settings:
        """A new folder for a lake, which stays until `sweep`."""
        return self.settings.model_copy(update={"lake": self._lakes / uuid4().hex})

    def ground(self, topic: Topic) -> Ground:
        """What a peer runs on, with a lake of its own."""
        # What the peer before wrote goes to disk on its own account, not on the next one's.
        os.sync()
        return Ground(
            start_session=lambda: self.session,
            endpoints=self.endpoints,
            settings=self.lake(),
            feed=topic.feed,
            by_game=topic.by_game,
            stop=self.stop,
        )

    def sweep(self) -> None:
        """Delete all lakes; not between runs that are compared.

        Where ext4 has no journal, as on many virtual machines, a new file costs 20 times as much
        for a minute after many were deleted, six if that is not on disk yet: inodes just freed are
        searched and passed over, `recently_deleted` in
        https://lore.kernel.org/linux-ext4/20200414023925.273867-1-tytso@mit.edu/
        """
        shutil.rmtree(self._lakes, ignore_errors=True)
        os.sync()

    @property
    def _lakes(self) -> Path:
        return self.settings.home / "lakes"
