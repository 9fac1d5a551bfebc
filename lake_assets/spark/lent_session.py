"""Whose Spark session work is done in: one of its own, or one that whoever asks for it lends.

Work takes a `LendSpark` and knows nothing of who lends: a run of Dagster has one session for all
its steps, and ends it; a command's is started for the work, and ends with it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.spark.jvm import has_started
from lake_assets.spark.session import start_session

Session: TypeAlias = SparkSession
"""A Spark session, for rooms that touch no engine themselves."""

Frame: TypeAlias = DataFrame
"""Rows that Spark reads, for the same."""

LendSpark: TypeAlias = Callable[[], AbstractContextManager[SparkSession]]
"""Gives a session for as long as the context lasts; called only if there is work for one.

Who enters it starts Spark if need be, and does not stop the session: its lender knows when.
"""


@contextmanager
def own_session(settings: Settings) -> Iterator[SparkSession]:
    """A session that ends with the context.

    Raises:
        LakeAssetsError: Spark cannot be started.
    """
    session = start_session(settings, ensure_runtime(settings))
    try:
        yield session
    finally:
        session.stop()


def session_for(
    settings: Settings, lend: LendSpark | None = None
) -> AbstractContextManager[SparkSession]:
    """The session that is lent, or one of its own where none is."""
    return own_session(settings) if lend is None else lend()


class KeptSession:
    """One session for several pieces of work: started by the first, and stopped once at the end.

    A session that ran in this process before is used, and left as it is.
    """

    def __init__(self, settings: Settings) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._session: SparkSession | None = None
        self._is_own = False

    def session(self) -> SparkSession:
        """The session.

        Raises:
            LakeAssetsError: Spark cannot be started.
        """
        if self._session is None:
            is_own = not has_started()
            self._session = start_session(self._settings, ensure_runtime(self._settings))
            self._is_own = is_own
        return self._session

    @contextmanager
    def lend(self) -> Iterator[SparkSession]:
        """The same as a `LendSpark`."""
        yield self.session()

    def stop(self) -> None:
        """Stop what was started here; a further call does nothing."""
        session, is_own = self._session, self._is_own
        self._session, self._is_own = None, False
        if session is not None and is_own:
            session.stop()
