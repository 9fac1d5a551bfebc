"""Files written again without their duplicates, and the file that tells of these."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import folder_in_table, prefix_of, read_file
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import Place
from lake_assets.model.tables import TableRef, duplicates_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.duplicate_rows import duplicate_rows
from lake_assets.silver.keyed_rows import KeyedRows
from lake_assets.spark.fan_out import Written
from lake_assets.storage.store import Store

_THREADS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Gone:
    """Which rows of a file are duplicates."""

    numbers: npt.NDArray[np.intp]
    first: KeyedRows
    """For each, the row that stays."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Outcome:
    """What became of a file."""

    table: TableRef
    file: DataFile
    left: DataFile | None
    """The file with the rows that stay; None if none does."""

    gone: pa.Table | None = None
    """Its duplicates, as the table of duplicates has them; None if it has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewriting:
    """Writes files of a feed's silver again that no commit names yet."""

    feed: Feed
    lake: Store
    places: Sequence[Place]
    """By number, a source and its partition."""

    _made: list[tuple[TableRef, DataFile]] = field(default_factory=list)

    def without(
        self, demuxed: Demuxed, files: Sequence[tuple[TableRef, DataFile]], gone: Sequence[Gone]
    ) -> tuple[Demuxed, list[DataFile | None]]:
        """What a job left, without some of its rows.

        Args:
            demuxed: what it left.
            files: of silver among it.
            gone: which rows of each of these files.

        Returns:
            What is to be committed, and what is left of each of the files.

        Raises:
            LakeError: a file cannot be read or written; then the job's are there as they were.
        """
        with self._discarded_on_failure():
            with ThreadPoolExecutor(_THREADS) as pool:
                pairs = zip(files, gone, strict=True)
                outcomes = list(pool.map(lambda one: self._filtered(one[0], one[1]), pairs))
            told = self._told(outcomes)
        for one in outcomes:
            if one.gone is not None:
                with suppress(LakeError):  # no commit names it, so maintenance deletes it
                    discard(log_of(self.lake, one.table), [one.file])
        return self._left(demuxed, outcomes, told), [one.left for one in outcomes]

    def _filtered(self, of: tuple[TableRef, DataFile], gone: Gone) -> _Outcome:
        table, file = of
        if not len(gone.numbers):
            return _Outcome(table=table, file=file, left=file)
        log = log_of(self.lake, table)
        rows = read_file(log, file)
        goes = np.zeros(rows.num_rows, np.bool_)
        goes[gone.numbers] = True
        key = self.feed.tables.key_of_silver(table.name) or table.name
        first = gone.first.take(np.argsort(gone.numbers))
        left_out = rows.filter(pa.array(goes))
        told = duplicate_rows(left_out, first, self.places, key, self.feed)
        if goes.all():
            return _Outcome(table=table, file=file, left=None, gone=told)
        kept, folder = rows.filter(pa.array(~goes)), folder_in_table(file)
        written = write_file(log.store, kept, log.folder, folder, prefix_of(file), file.partition)
        left = DataFile(partition=file.partition, **written)  # type: ignore[arg-type]
        self._made.append((table, left))
        return _Outcome(table=table, file=file, left=left, gone=told)

    def _told(self, outcomes: Iterable[_Outcome]) -> list[DataFile]:
        """The file of the table of duplicates, if there are any."""
        gone = [one.gone for one in outcomes if one.gone is not None]
        if not gone:
            return []
        table = duplicates_of(self.feed.feed)
        log = log_of(self.lake, table)
        file = DataFile(**write_file(log.store, pa.concat_tables(gone), log.folder))  # type: ignore[arg-type]
        self._made.append((table, file))
        return [file]

    def _left(
        self, demuxed: Demuxed, outcomes: Iterable[_Outcome], told: list[DataFile]
    ) -> Demuxed:
        files: dict[TableRef, list[DataFile]] = {}
        counts: dict[str, int] = {}
        for one in outcomes:
            files.setdefault(one.table, []).extend([one.left] if one.left else [])
            if one.gone is not None:
                key = one.gone["key"][0].as_py()
                counts[key] = counts.get(key, 0) + one.gone.num_rows
        written = {
            table: Written(files=files.get(table, was.files))
            for table, was in demuxed.written.items()
            if files.get(table, was.files)
        }
        if told:
            written[duplicates_of(self.feed.feed)] = Written(files=told)
        return replace(demuxed, written=written, duplicates=counts)

    @contextmanager
    def _discarded_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            for table, file in self._made:
                with suppress(LakeError):  # what failed before is what is to be told
                    discard(log_of(self.lake, table), [file])
            raise
