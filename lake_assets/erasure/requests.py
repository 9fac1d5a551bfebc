"""The table by which others ask for erasures: any engine adds a row, and it leaves when it is done.

It holds values, as nothing else of an erasure does; so its history ends with each row that leaves.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence

import pyarrow as pa

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import put_unless_changed
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard, discarded_if_not_made
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import CommitConflictError, ErasureError
from lake_assets.model.erasures import Later
from lake_assets.model.tables import ERASURE_REQUESTS
from lake_assets.parquet.data_file import write_file

COLUMNS = pa.schema(
    [
        pa.field("column", pa.string()),
        pa.field("value", pa.string()),
        pa.field("later", pa.string()),  # `drop` or `keep`; null is `drop`
    ]
)
"""Columns of the table; others may be added by whoever asks."""

_TRIES = 20
"""Tries beside others that rewrite the table's files."""


def make_table(committer: Committer) -> None:
    """Create the table of requests, if it is not there.

    Raises:
        LakeError: the lake cannot be written.
    """
    committer.create({ERASURE_REQUESTS: COLUMNS})


def open_requests(committer: Committer) -> dict[Later, list[Wanted]]:
    """What is asked for, by what becomes of later rows, one request a column.

    Raises:
        ErasureError: a row names no column or no value, or says something else of later rows.
        LakeError: the table cannot be read.
    """
    values: dict[tuple[Later, str], list[str]] = defaultdict(list)
    for _, rows in _files(committer):
        for row in rows.select(["column", "value", "later"]).to_pylist():
            values[_later(row["later"]), row["column"] or ""].append(row["value"] or "")
    found: dict[Later, list[Wanted]] = defaultdict(list)
    for (later, column), its in values.items():
        found[later].append(Wanted(column=column, values=tuple(dict.fromkeys(its))))
    return dict(found)


def _later(text: str | None) -> Later:
    try:
        return Later(text or Later.DROP)
    except ValueError as problem:
        raise ErasureError(
            f"a row of {ERASURE_REQUESTS.name}",
            f"has {text!r} as `later`",
            f"Correct it: {' or '.join(Later)}",
        ) from problem


def close_requests(committer: Committer, later: Later, done: Sequence[Wanted]) -> None:
    """Take the rows of requests out that are done; what was asked for meanwhile stays.

    Raises:
        CommitConflictError: others rewrite the table all the time.
        LakeError: it cannot be read or written.
    """
    asked = {(one.column, value) for one in done for value in one.values}
    log = log_of(committer.store, ERASURE_REQUESTS)
    for _ in range(_TRIES):
        removed: list[DataFile] = []
        added: list[DataFile] = []
        for file, rows in _files(committer):
            stays = [_stays(row, later, asked) for row in rows.to_pylist()]
            if all(stays):
                continue
            removed.append(file)
            if any(stays):
                left = rows.filter(pa.array(stays)).combine_chunks()
                added.append(DataFile(**write_file(log.store, left, log.folder)))  # type: ignore[arg-type]
        if not removed:
            return
        commit = Commit(table=ERASURE_REQUESTS, files=added, removed=tuple(removed))
        with discarded_if_not_made(log, added):
            if put_unless_changed(committer, commit):
                return
        discard(log, added)
    raise CommitConflictError(
        ERASURE_REQUESTS.name, "its files are rewritten all the time", "Ask again later"
    )


def _stays(row: dict[str, str | None], later: Later, asked: Collection[tuple[str, str]]) -> bool:
    is_done = (row["column"] or "", row["value"] or "") in asked
    return not (is_done and (row["later"] or Later.DROP) == later)


def _files(committer: Committer) -> list[tuple[DataFile, pa.Table]]:
    log = log_of(committer.store, ERASURE_REQUESTS)
    if not log.exists():
        return []
    files = active_files(committer.fresh(ERASURE_REQUESTS))
    return [(file, read_file(log, file)) for file in files]
