"""A table's log, written again without values of files that the table no longer has.

Commits and checkpoints are replaced one by one, each in one step for its readers, and can be read
at any time: they say of rows what they said. What is only a copy of that goes. Which values an
entry tells is `delta.log_statistics`' to say.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.log_statistics import IsGone, shorten_checkpoint, shortened_commit
from lake_assets.delta.table_log import TableLog

_THREADS = 8
"""Commits at once in a bucket, which answers after tens of milliseconds; a disk takes one."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.\d{10})?\.parquet")
"""Whole or in parts."""

_CHECKPOINT_V2 = re.compile(r"(\d{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)")
_COPY = re.compile(r"(?:\d{20}\.)?(\d{20})\.(?:crc|compacted\.json)")
"""Of Spark: the checksum of a version, which may name all files with their statistics, and several
commits in one. Readers that find none take the commits."""

SIDECARS = "_sidecars"
"""Folder of a log with what checkpoints of version 2 name."""


@dataclass(kw_only=True)
class ShortenedLog:
    """What was done to a log, and what it tells of files that are gone."""

    written: int = 0
    """Files of it, written again or deleted."""

    removed_in: dict[str, int | None] = field(default_factory=dict)
    """By path, not encoded, each file that is gone and named; the version that removed it last,
    None if the log has forgotten its commit."""

    partitions: set[str] = field(default_factory=set)
    """Columns whose values are in the names of such files."""

    left: list[str] = field(default_factory=list)
    """Names of files that could not be written again."""

    sidecars: set[str] = field(default_factory=set)
    """Names of files that checkpoints of version 2 name; also of those that went with theirs."""


def shorten_log(
    log: TableLog, newest: int, is_gone: IsGone, checkpoint: Callable[[], object]
) -> ShortenedLog:
    """Write a log again without values of files that are gone.

    Args:
        log: of the table.
        newest: the version that has none of the files; what came after it stays as it is.
        is_gone: tells of which files.
        checkpoint: writes a checkpoint of that version.

    Raises:
        LakeError: the store cannot be read or written.
        ValueError: a commit is torn.
        pa.ArrowException: a checkpoint is damaged.
    """
    return _Shortening(log, newest, is_gone).run(checkpoint)


class _Shortening:
    """One run over a log."""

    def __init__(self, log: TableLog, newest: int, is_gone: IsGone) -> None:
        self._log, self._newest, self._is_gone = log, newest, is_gone
        self._done = ShortenedLog()

    def run(self, checkpoint: Callable[[], object]) -> ShortenedLog:
        names = list(self._log.names_from())
        summed_up = {*self._old(names, _CHECKPOINT), *self._old(names, _CHECKPOINT_V2)}
        if summed_up and not any(name.startswith(f"{self._newest:020}.") for name in summed_up):
            checkpoint()  # which needs none of those that are written again
        self._commits(self._old(names, _COMMIT))
        # Checkpoints that were made meanwhile tell what commits told; that one too, of files that
        # other engines removed.
        names = list(self._log.names_from())
        for name in self._old(names, _CHECKPOINT):
            self._checkpoint(name)
        for name in self._old(names, _COPY):
            if not name.startswith(f"{self._newest:020}."):
                self._delete(name)
        self._second_kind(names)
        return self._done

    def _old(self, names: Iterable[str], kind: re.Pattern[str]) -> list[str]:
        """Names of a kind, of versions up to the newest."""
        found = ((name, kind.fullmatch(name)) for name in names)
        return [name for name, match in found if match and int(match[1]) <= self._newest]

    def _commits(self, names: Sequence[str]) -> None:
        threads = 1 if self._log.folder.is_local else _THREADS
        with ThreadPoolExecutor(threads, thread_name_prefix="history") as pool:
            for name, told in zip(names, pool.map(self._commit, names), strict=True):
                for kind, action in told:
                    self._note(kind, action, int(name.split(".")[0]))

    def _commit(self, name: str) -> list[tuple[str, Any]]:
        """Write a commit again if it tells values; its actions of files that are gone."""
        try:
            commit = self._log.store.get(self._log.file(name))
        except FileNotFoundError:  # swept away meanwhile
            return []
        shortened = shortened_commit(commit, self._is_gone)
        # A commit that was swept away since does not come back.
        if shortened is not None and self._log.store.stat(self._log.file(name)) is not None:
            self._forget_checksum(name)
            with self._log.store.open_for_writing(self._log.file(name), durable=True) as stream:
                stream.write(shortened)
            self._done.written += 1
        return [told for told in _of_files(commit) if self._is_gone(unquote(told[1]["path"]))]

    def _note(self, kind: str, action: Mapping[str, Any], version: int) -> None:
        path = unquote(action["path"])
        known = self._done.removed_in.setdefault(path, None)
        if kind == "remove":
            self._done.removed_in[path] = max(version, known or 0)
        values = action.get("partitionValues") or {}
        self._done.partitions |= {name for name, value in values.items() if value}

    def _checkpoint(self, name: str) -> None:
        with suppress(FileNotFoundError):  # swept away meanwhile
            for path in self._named_in(name):
                self._done.removed_in.setdefault(path, None)
            self._forget_checksum(name)
            self._done.written += shorten_checkpoint(
                self._log.store, self._log.file(name), self._is_gone
            )

    def _named_in(self, name: str) -> Iterator[str]:
        """Files that are gone and a checkpoint names: the log may have forgotten their commits."""
        with self._log.store.open_for_reading(self._log.file(name)) as source:
            whole = pq.ParquetFile(source)
            kinds = [kind for kind in ("add", "remove") if kind in whole.schema_arrow.names]
            for batch in whole.iter_batches(columns=[f"{kind}.path" for kind in kinds]):
                for actions in batch.columns:
                    paths = map(unquote, actions.field("path").drop_null().to_pylist())
                    yield from filter(self._is_gone, paths)

    def _second_kind(self, names: Sequence[str]) -> None:
        """Delete checkpoints of version 2 below the newest, which nothing here writes.

        They stay where the log has forgotten the commits that they sum up: versions would be lost.
        """
        old = self._old(names, _CHECKPOINT_V2)
        old = [name for name in old if not name.startswith(f"{self._newest:020}.")]
        if not old:
            self._note_sidecars()
            return
        first = min((int(name.split(".")[0]) for name in self._old(names, _COMMIT)), default=-1)
        if first != 0:
            self._done.left += old
            self._note_sidecars()
            return
        named = {name for one in old for name in self._sidecars(one)}
        for name in old:
            self._delete(name)
        self._note_sidecars()
        for name in sorted(named - self._done.sidecars):
            self._delete(f"{SIDECARS}/{name}")
        self._done.sidecars |= named

    def _note_sidecars(self) -> None:
        rest = filter(_CHECKPOINT_V2.fullmatch, self._log.names_from())
        self._done.sidecars = {name for one in rest for name in self._sidecars(one)}

    def _sidecars(self, name: str) -> set[str]:
        content = self._log.store.get(self._log.file(name))
        if name.endswith(".json"):
            told = [action for kind, action in _actions(content) if kind == "sidecar"]
        else:
            whole = pq.ParquetFile(pa.BufferReader(content))
            names = [one for one in whole.schema_arrow.names if one == "sidecar"]
            told = [
                one for column in whole.read(columns=names).columns for one in column.to_pylist()
            ]
        return {one["path"].rpartition("/")[2] for one in told if one}

    def _delete(self, name: str) -> None:
        self._log.store.delete(self._log.file(name))
        self._forget_checksum(name)
        self._done.written += 1

    def _forget_checksum(self, name: str) -> None:
        """Delete what Hadoop compares a file with when it reads it from a disk."""
        if self._log.folder.is_local:
            folder, _, last = name.rpartition("/")
            self._log.store.delete(self._log.file(f"{folder and f'{folder}/'}.{last}.crc"))


def _of_files(commit: bytes) -> Iterator[tuple[str, Any]]:
    return (told for told in _actions(commit) if told[0] in {"add", "remove", "cdc"})


def _actions(lines: bytes) -> Iterator[tuple[str, Any]]:
    for line in lines.splitlines():
        yield from json.loads(line).items()
