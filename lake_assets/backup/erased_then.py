"""Whether files of a table's older version have rows that are erased, so that they stay away.

A row may have left the table before it was erased, for its age for example: nobody looked for it
in older versions then. Reads only.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import columns_of_file, read_file
from lake_assets.delta.origins import Origins, Own, Within
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasures, digests_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.tables import Layer, TableRef
from lake_assets.silver.value_texts import texts_of
from lake_assets.state.erasure_ledger import ErasureLedger


def ensure_none_erased(
    ledger: ErasureLedger | None, feed: Feed, table: TableRef, files: Sequence[DataFile]
) -> None:
    """Make sure that files which are to come back have no row that is erased.

    Gold tells nobody's rows: none of it comes back while an erasure is under way. Afterwards its
    older versions are gone.

    Raises:
        LakeError: some are, or may be; or the ledger or a file cannot be read.
    """
    erasures = Erasures() if ledger is None else ledger.read()
    if ledger is None or not erasures or not files:
        return
    log = log_of(ledger.lake, table)
    if table.layer is Layer.GOLD:
        if not all(one.is_ended for one in erasures.every):
            fact = "may count rows that are being erased in its older versions"
            raise LakeError(table.relative, fact, "Run `lake-assets erase --again` to its end")
        return
    within = Within(ledger.spans(feed.feed), origin_of(feed))
    for file in files:
        if _has_places(log, file, within) or any(_values(log, file, feed, erasures)):
            fact = f"has rows then that are erased ({file.path})"
            raise LakeError(table.relative, fact, "Name a later version")


def _has_places(log: TableLog, file: DataFile, within: Within) -> bool:
    names, own = columns_of_file(log, file), Own(within.origin)
    columns = dict.fromkeys([*within.columns(names), *own.columns(names)])
    rows = read_file(log, file, [*columns])
    return bool((within.mask(rows) & own.mask(rows)).any())


def _values(log: TableLog, file: DataFile, feed: Feed, erasures: Erasures) -> Iterator[bool]:
    """Of each column that an erasure is of, whether a row has an erased value."""
    names = columns_of_file(log, file)
    for name in (name for name in names if name.lower() in erasures.columns):
        origins = Origins(origin_of(feed))
        rows = read_file(log, file, [*dict.fromkeys([name, *origins.columns(names)])])
        texts = texts_of(pa.concat_arrays(rows[name].chunks)) if rows.num_rows else None
        if texts is None:
            continue
        digest, by_digest = digests_of(erasures.key, name), erasures.of(name)
        for value in pc.unique(texts).drop_null().to_pylist():
            has_it = np.asarray(pc.fill_null(pc.equal(texts, value), pa.scalar(value=False)))
            for erasure in by_digest.get(digest(value), ()):
                its = Origins(origin_of(feed))
                its.add(rows.filter(pa.array(has_it)))
                yield bool(erasure.concerned(feed.feed, its.spans))
