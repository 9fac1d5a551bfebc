"""Where rows are that an erasure would leave out, told by decoding them; nothing is changed."""

from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.origins import Origins
from lake_assets.delta.table_log import log_of
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import bronze_of, erased_of, quarantine_of, waiting_of
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.scopes import Refused, Scope


def find_erased(redo: Redo, bronze: Sequence[DataFile], *, aside: bool) -> Mapping[str, Spans]:
    """Where rows of a feed are that would be left out if they were derived now.

    Args:
        redo: of the feed.
        bronze: files of it, whose rows may be in no other table: an expectation may have dropped
            them.
        aside: whether rows of quarantine and those that wait are looked at, too.

    Returns:
        By erasure's id; under "" those that are told by where they were alone.

    Raises:
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    feed, lake = redo.demux.feed, redo.demux.context.lake
    sets = {bronze_of(feed.feed): bronze}
    for table in (quarantine_of(feed.feed), waiting_of(feed.feed)) if aside else ():
        if log_of(lake, table).exists():
            sets[table] = redo.files_in(table)
    found: dict[str, Origins] = {}
    for table, files in sets.items():
        if not files:
            continue
        with redo.demux.alone:
            job, demuxed = redo.demux.derive(redo.given(redo.rows_in(table, files)), _nothing)
        try:
            _add(redo, demuxed, found)
        finally:
            job.discard(demuxed)
    return {erasure: origins.spans for erasure, origins in found.items()}


def _add(redo: Redo, demuxed: Demuxed, found: dict[str, Origins]) -> None:
    feed = redo.demux.feed
    log = log_of(redo.demux.context.lake, erased_of(feed.feed))
    written = demuxed.written.get(erased_of(feed.feed))
    for file in written.files if written else ():
        rows = read_file(log, file)
        for erasure in pc.unique(rows["erasure"]).to_pylist():
            own = rows.filter(pc.equal(rows["erasure"], erasure)) if erasure else rows
            found.setdefault(erasure or "", Origins(origin_of(feed))).add(own)


def _nothing(known: tuple[str, ...]) -> Scope:
    """No row of any key, and no refused one; erased ones are written always."""
    return Scope(keys=tuple(False for _ in known), refused=Refused.NONE)
