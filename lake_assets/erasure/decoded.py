"""Rows that only decoding tells: of quarantine, of those that wait, and of bronze that are nowhere.

A `select` that leaves the column out, a `mask` that hides it, `deduplicate` and all by which silver
lacks rows (`erasure.lacking`) leave rows in bronze that silver does not tell of. Texts are looked
for in payloads first: only files with such rows are decoded, and mostly there are none.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.delta.origin_bounds import files_that_may_have
from lake_assets.delta.origins import Origins
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find import hides_values
from lake_assets.erasure.find_values import Sought, matching_rows, naming
from lake_assets.erasure.lacking import drops_rows, has_more_rows
from lake_assets.erasure.note import Noted
from lake_assets.erasure.wanted import patterns_of
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import ErasureState
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import bronze_of, duplicates_of, quarantine_of, waiting_of
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.session import start_session
from lake_assets.streams.reprocess import erased_by_decoding

_AT_ONCE = 4
"""Files that are read at the same time."""


@contextmanager
def one_session(
    settings: Settings, session: SparkSession | None
) -> Iterator[Callable[[], SparkSession]]:
    """What gives a session that is there, or one that starts when it is first asked for.

    Raises:
        LakeAssetsError: Spark cannot be started.
    """
    with ExitStack() as stack:

        @cache
        def started() -> SparkSession:
            own = start_session(settings, ensure_runtime(settings))
            stack.callback(own.stop)
            return own

        yield started if session is None else lambda: session


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """Decodes rows to tell whose they are; Spark is started only if there are some."""

    settings: Settings
    context: LakeContext
    locate: Callable[[], Endpoints]
    """Tells where the registry is."""

    session: Callable[[], SparkSession]
    """Gives Spark's, one for all feeds and erasures; as `one_session`."""

    def rows(self, feed: Feed, noted: Noted, known: Origins) -> Spans:
        """Where rows of a feed are that only decoding tells of. The turn `REDO_TURN` is held.

        Args:
            feed: whose rows.
            noted: the erasure, which is in the ledger.
            known: rows that were found otherwise.

        Raises:
            LakeAssetsError: Spark, the registry or the lake cannot be used.
        """
        bronze = open_table(self.context.lake, bronze_of(feed.feed))
        if not feed.has_silver or bronze is None:
            return {}
        is_text = bool(noted.matching.plain) and not any(map(_is_coded, noted.matching.plain))
        files = self._files(feed, bronze, noted)
        if files and is_text:
            files = self._with_texts(feed, files, noted, known)
        has_aside = not is_text and self._has_aside(feed)
        if not files and not has_aside:
            return {}
        found = erased_by_decoding(
            self.settings, feed, self.locate(), files, aside=has_aside, session=self.session()
        )
        return found.get(noted.erasure.id, {})

    def _files(self, feed: Feed, bronze: DeltaTable, noted: Noted) -> list[DataFile]:
        """Files of bronze that may have rows of which no table tells whose they are."""
        lake, table = self.context.lake, duplicates_of(feed.feed)
        is_known = not noted.matching.plain and noted.erasure.state is not ErasureState.NOTED
        # Of one whose places were all noted, only rows are new that streams left out.
        lacks_rows = drops_rows(feed) or (not is_known and has_more_rows(lake, feed))
        if hides_values(feed) or lacks_rows:
            return active_files(bronze)
        if not log_of(lake, table).exists():
            return []
        if feed.quarantine.retention is not None:  # and with it that of duplicates
            return active_files(bronze)
        origin = origin_of(feed)
        duplicates = Origins(origin)
        for file in active_files(self.context.committer.fresh(table)):
            duplicates.add(read_file(log_of(lake, table), file, [*origin.identity]))
        return files_that_may_have(bronze, duplicates, origin) if len(duplicates) else []

    def _has_aside(self, feed: Feed) -> bool:
        tables = (
            open_table(self.context.lake, of(feed.feed)) for of in (quarantine_of, waiting_of)
        )
        return any(table is not None and rows_of(table) for table in tables)

    def _with_texts(
        self, feed: Feed, files: Sequence[DataFile], noted: Noted, known: Origins
    ) -> list[DataFile]:
        """Those of some files of bronze with a value in a payload of a row that nobody knows of."""
        log, origin = log_of(self.context.lake, bronze_of(feed.feed)), origin_of(feed)
        sought = Sought(["value"], naming(patterns_of(noted.matching.plain)))

        def has_some(file: DataFile) -> bool:
            found = matching_rows(log, file, sought, origin)
            return any((~known.mask(rows)).any() for rows in found if rows is not None)

        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="erasure") as pool:
            return [file for file, has in zip(files, pool.map(has_some, files), strict=True) if has]


def _is_coded(value: str) -> bool:
    """Whether a payload may have a value otherwise than as its text: as a number, or as bytes."""
    is_number = re.fullmatch(r"[+-]?[0-9]+", value) is not None
    return is_number or re.fullmatch(r"([0-9A-Fa-f]{2}){4,}", value) is not None
