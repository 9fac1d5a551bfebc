"""The table by which others ask for erasures: any engine adds a row, and it leaves when it is done.

It holds values, as nothing else of an erasure does; so its history ends with each row that leaves.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.rewrite_files import Rewrite, rewrite_files
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import Later
from lake_assets.model.tables import ERASURE_REQUESTS

COLUMNS = pa.schema(
    [
        pa.field("column", pa.string()),
        pa.field("value", pa.string()),
        pa.field("later", pa.string()),  # `drop` or `keep`; null is `drop`
    ]
)
"""Columns of the table; others may be added by whoever asks."""


def make_table(committer: Committer) -> None:
    """Create the table of requests, if it is not there.

    Raises:
        LakeError: the lake cannot be written.
    """
    committer.create({ERASURE_REQUESTS: COLUMNS})


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenRequests:
    """What the table asks for."""

    asked: Mapping[Later, Sequence[Wanted]]
    """By what becomes of later rows, one request a column."""

    unclear: Sequence[str] = ()
    """In words, rows that say nothing that can be done; they stay."""


def open_requests(committer: Committer) -> OpenRequests:
    """What is asked for.

    Raises:
        LakeError: the table cannot be read.
    """
    values: dict[tuple[Later, str], list[str]] = defaultdict(list)
    unclear: dict[str, None] = {}
    for _, rows in _files(committer):
        for row in rows.select(["column", "value", "later"]).to_pylist():
            if why := _why_unclear(row):
                unclear[f"a row of {ERASURE_REQUESTS.name} {why}: correct or delete it"] = None
                continue
            values[Later(row["later"] or Later.DROP), row["column"]].append(row["value"])
    asked: dict[Later, list[Wanted]] = defaultdict(list)
    for (later, column), its in values.items():
        asked[later].append(Wanted(column=column, values=tuple(dict.fromkeys(its))))
    return OpenRequests(asked=dict(asked), unclear=tuple(unclear))


def _why_unclear(row: Mapping[str, str | None]) -> str:
    if not (row["column"] or "").strip():
        return "names no column"
    if not (row["value"] or "").strip():
        return f"names no value of {row['column']}"
    if (row["later"] or Later.DROP) not in set(Later):
        return f"has {row['later']!r} as `later`, which is {' or '.join(Later)}"
    return ""


def close_requests(committer: Committer, later: Later, done: Sequence[Wanted]) -> None:
    """Take the rows of requests out that are done; what was asked for meanwhile stays.

    Raises:
        CommitConflictError: others rewrite the table all the time.
        LakeError: it cannot be read or written.
    """
    asked = {(one.column, value) for one in done for value in one.values}

    def plan(rewrite: Rewrite) -> None:
        for file, rows in _files(committer):
            stays = [_stays(row, later, asked) for row in rows.to_pylist()]
            if all(stays):
                continue
            rewrite.removed.append(file)
            if any(stays):
                rewrite.write(rows.filter(pa.array(stays)))

    rewrite_files(committer, ERASURE_REQUESTS, plan, next_step="Ask again later")


def _stays(row: dict[str, str | None], later: Later, asked: Collection[tuple[str, str]]) -> bool:
    is_done = (row["column"] or "", row["value"] or "") in asked
    return not (is_done and (row["later"] or Later.DROP) == later)


def _files(committer: Committer) -> list[tuple[DataFile, pa.Table]]:
    log = log_of(committer.store, ERASURE_REQUESTS)
    if not log.exists():
        return []
    files = active_files(committer.fresh(ERASURE_REQUESTS))
    return [(file, read_file(log, file)) for file in files]
