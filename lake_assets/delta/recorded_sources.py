"""Which sources a table's commits record offsets of: names that nobody needs to know before.

Delta tells what is recorded under an application's id, and not which ids there are; those are in
the log's newest checkpoint and the commits after it. Opens no data file.
Format: the Delta protocol's "Checkpoints",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoints
"""

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.log_tail import actions_of
from lake_assets.delta.source_offsets import name_in
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError
from lake_assets.model.origins import NamedSource
from lake_assets.model.sources import Source


def sources_read(log: TableLog, handle: DeltaTable, source: Source) -> list[NamedSource]:
    """The sources that a feed reads, as far as it names them or a table records them.

    Args:
        log: of the table.
        handle: the table.
        source: what the feed reads.

    Raises:
        LakeError: the log cannot be read.
    """
    declared = source.declared
    recorded = () if declared.names else recorded_names(log, handle.version(), source.kind)
    found = (name for name in recorded if declared.reads(name))
    return [source.named(name) for name in (*declared.names, *found)]


def recorded_names(log: TableLog, version: int, kind: str) -> tuple[str, ...]:
    """Names of the sources of a kind that a table's commits up to a version record offsets of.

    Raises:
        LakeError: the log cannot be read.
    """
    names = {name for app in _applications(log, version) if (name := name_in(app, kind))}
    return tuple(sorted(names))


def _applications(log: TableLog, version: int) -> Iterator[str]:
    since = 0
    for checkpoint, files in _checkpoints(log, version):
        try:
            found = [app for file in files for app in _in_checkpoint(log, file)]
        except (OSError, ValueError, pa.ArrowException):
            continue  # a death may have torn it: older ones and commits tell the same
        yield from found
        since = checkpoint + 1
        break
    for at in range(since, version + 1):
        try:
            for kind, action in actions_of(log, at):
                if kind == "txn":
                    yield action["appId"]
        except (FileNotFoundError, ValueError) as problem:
            fact = f"its log lacks version {at}, or has it torn"
            raise LakeError(str(log.folder), fact, "Put the log's file back") from problem


def _checkpoints(log: TableLog, version: int) -> list[tuple[int, list[str]]]:
    """Those up to a version, the newest first, each with its files."""
    by_version: dict[int, list[str]] = {}
    for name in log.names_from():
        at, _, rest = name.partition(".")
        if rest.startswith("checkpoint.") and at.isdecimal() and int(at) <= version:
            by_version.setdefault(int(at), []).append(name)
    return sorted(by_version.items(), reverse=True)


def _in_checkpoint(log: TableLog, name: str) -> Iterator[str]:
    if name.endswith(".json"):  # of version 2, whose actions but files may be in JSON
        lines = log.store.get(log.file(name)).splitlines()
        yield from (a["txn"]["appId"] for a in map(json.loads, lines) if "txn" in a)
        return
    with log.store.open_for_reading(log.file(name)) as source:
        file = pq.ParquetFile(source)
        if "txn" in file.schema_arrow.names:
            told = pc.struct_field(file.read(["txn.appId"])["txn"], "appId")
            yield from told.drop_null().to_pylist()
