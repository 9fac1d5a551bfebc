"""What a peer is given to run on, and how its queries are timed. What peers there are: `peers`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings

_LOOK_EVERY_S = 1
"""Seconds that one wait in the JVM takes at most, so that a signal is heard; a query's end is
noticed at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """The same for all peers of a round, but for the folder."""

    start_session: Callable[[], SparkSession]
    """Gives the session that all peers share; the first call may start it."""

    endpoints: Endpoints
    settings: Settings
    """`lake_dir` is the peer's own, and empty."""

    feed: Feed
    """The topic with the events, and the games that are to become tables."""

    by_game: Mapping[str, int]
    """How many events of each game the topic holds."""

    stop: Callable[[], bool]
    """Whether the user wants it to end."""

    @property
    def session(self) -> SparkSession:
        """The session that all peers share."""
        return self.start_session()

    @property
    def events(self) -> int:
        """How many the topic holds."""
        return sum(self.by_game.values())


def seconds_of(start: Callable[[], StreamingQuery], stop: Callable[[], bool]) -> float:
    """Seconds from before a query's start until after its last commit.

    Raises:
        StreamError: it failed.
        KeyboardInterrupt: it ended, and `stop` says that it was the last.
    """
    return timed(lambda: await_end(start()), stop)


def timed(act: Callable[[], object], stop: Callable[[], bool]) -> float:
    """Seconds that a call takes, which is not broken off either.

    Raises:
        KeyboardInterrupt: it ended, and `stop` says that it was the last.
    """
    started = perf_counter()
    act()
    seconds = perf_counter() - started
    if stop():
        raise KeyboardInterrupt
    return seconds


def await_end(query: StreamingQuery) -> None:
    """Wait until a query that ends by itself has ended.

    It is not broken off: out of the middle of a call to the JVM, Python's own KeyboardInterrupt
    leaves the gateway unusable, and a batch that is interrupted fills the screen with its trace.

    Raises:
        StreamError: it failed.
    """
    try:
        while not query.awaitTermination(_LOOK_EVERY_S):
            pass
    except StreamingQueryException as problem:
        lines = str(problem).splitlines()
        causes = [line.strip() for line in lines if line.startswith("Caused by")] or lines[:1]
        raise StreamError("bench", causes[-1], "Run it again with --verbose") from problem


def check(measure: str, *, rows: int, expected: int) -> None:
    """Make sure that a peer did the work it is timed for.

    Raises:
        StreamError: it did not.
    """
    if rows != expected:
        raise StreamError(
            f"bench: {measure}", f"has {rows:,} rows of {expected:,}", "Its time says nothing"
        )
