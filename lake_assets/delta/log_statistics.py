"""What a table's log tells of values in files that the table no longer has, and the log without it.

Actions of files tell the least and the greatest value of each column, and commits what rows were
deleted by. Everything else stays as it is said: which files came and went, how many rows they have,
transactions, and what a commit tells of itself. Format: the Delta protocol's "Per-file Statistics",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lake_assets.delta.commit_digest import ORIGINAL, digest_of
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Store

IsGone: TypeAlias = Callable[[str], bool]
"""Whether the table no longer has a file, by its path, not encoded."""

_VALUES = ("minValues", "maxValues")

_CONDITION = "redicate"
"""Part of the names of a commit's parameters that say which rows were changed: values, often."""

_SAYS_NOTHING: tuple[object, ...] = (None, "", "[]", [], "true")

_BATCH = 4096
"""Actions of a checkpoint in memory at once: some MB."""


def without_values(stats: str) -> str | None:
    """A file's statistics, as an action has them, without values; None if there are none then."""
    try:
        told = json.loads(stats)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    kept = {name: each for name, each in told.items() if name not in _VALUES}
    if len(kept) == len(told):
        return stats
    return json.dumps(kept, separators=(",", ":"))


def shortened_commit(commit: bytes, is_gone: IsGone) -> bytes | None:
    """A commit without values of files that are gone, nor by what rows it changed.

    Its digest (`commit_digest`) stays what it was; lines that tell no values are the same bytes.

    Args:
        commit: what its file has; also of other files of a log that have a line an action.
        is_gone: tells of which files.

    Returns:
        None if it tells nothing of the kind.

    Raises:
        ValueError: it is no JSON.
    """
    if not any(mark in commit for mark in (b"Values", _CONDITION.encode())):
        return None
    lines = [_shortened_line(line, is_gone) for line in commit.splitlines()]
    if all(new is None for new, _ in lines):
        return None
    kept = [line if new is None else new for new, line in lines]
    return b"".join(line + b"\n" for line in _with_digest(kept, digest_of(commit)))


def _shortened_line(line: bytes, is_gone: IsGone) -> tuple[bytes | None, bytes]:
    """The line as it is to be, or None if it may stay; and the line."""
    if b"Values" not in line and _CONDITION.encode() not in line:
        return None, line
    actions = json.loads(line)
    is_changed = False
    for kind, action in actions.items():
        if kind in {"add", "remove"} and action.get("stats") and is_gone(unquote(action["path"])):
            stats = without_values(action["stats"])
            is_changed = is_changed or stats != action["stats"]
            action["stats"] = stats
        elif kind == "commitInfo":
            is_changed = _drop_conditions(action) or is_changed
    return (_encoded(actions) if is_changed else None), line


def _drop_conditions(info: dict[str, Any]) -> bool:
    """Have a commit not tell by what its rows were found; whether it did."""
    parameters = info.get("operationParameters")
    if not isinstance(parameters, dict):
        return False
    telling = [
        name for name, value in parameters.items() if _CONDITION in name and not _is_empty(value)
    ]
    for name in telling:
        del parameters[name]
    return bool(telling)


def _is_empty(value: object) -> bool:
    return value in _SAYS_NOTHING


def _with_digest(lines: list[bytes], digest: str) -> list[bytes]:
    """A commit's lines, with the digest that it had when it was made."""
    for at, line in enumerate(lines):
        if b'"commitInfo"' not in line:
            continue
        actions = json.loads(line)
        if "commitInfo" in actions:
            actions["commitInfo"].setdefault(ORIGINAL, digest)
            return [*lines[:at], _encoded(actions), *lines[at + 1 :]]
    return [*lines, _encoded({"commitInfo": {ORIGINAL: digest}})]


def _encoded(actions: Mapping[str, Any]) -> bytes:
    try:
        # As `TableLog.put` has it.
        return json.dumps(actions, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a pair, which only an escape can say
        return json.dumps(actions, separators=(",", ":")).encode()


def shorten_checkpoint(store: Store, file: LakeUri, is_gone: IsGone) -> bool:
    """Write a checkpoint anew without values of files that are gone, if it tells any.

    Returns:
        Whether it did.

    Raises:
        FileNotFoundError: it is not there any more.
        pa.ArrowException: it is damaged.
        LakeError: the store cannot be read or written.
    """
    if not _tells(store, file, is_gone):
        return False
    with store.open_for_reading(file) as source:
        whole = pq.ParquetFile(source)
        with (
            store.open_for_writing(file, durable=True) as target,
            pq.ParquetWriter(target, whole.schema_arrow, compression="snappy") as writer,
        ):
            for batch in whole.iter_batches(_BATCH):
                writer.write_batch(_shortened_batch(batch, is_gone))
    return True


def _tells(store: Store, file: LakeUri, is_gone: IsGone) -> bool:
    with store.open_for_reading(file) as source:
        whole = pq.ParquetFile(source)
        names = [name for name in ("add", "remove") if name in whole.schema_arrow.names]
        return any(
            _shortened_batch(batch, is_gone) is not batch
            for batch in whole.iter_batches(_BATCH, columns=names)
        )


def _shortened_batch(batch: pa.RecordBatch, is_gone: IsGone) -> pa.RecordBatch:
    """Actions of a checkpoint; the same ones if they tell no values of gone files."""
    shortened = batch
    for at, name in enumerate(batch.schema.names):
        if name in {"add", "remove"}:
            action = batch.column(at)
            new = _shortened_actions(action, is_gone)
            if new is not action:
                shortened = shortened.set_column(at, batch.schema.field(at), new)
    return shortened


def _shortened_actions(actions: pa.StructArray, is_gone: IsGone) -> pa.StructArray:
    fields = list(actions.type)
    children = {field.name: actions.field(at) for at, field in enumerate(fields)}
    paths = children["path"].to_pylist()
    gone = [path is not None and is_gone(unquote(path)) for path in paths]
    if not any(gone):
        return actions
    new = dict(children)
    if "stats" in children:
        new["stats"] = _texts_without(children["stats"], gone)
    if "stats_parsed" in children:
        new["stats_parsed"] = _structs_without(children["stats_parsed"], gone)
    if all(new[name] is children[name] for name in children):
        return actions
    return pa.StructArray.from_arrays(
        [new[field.name] for field in fields], fields=fields, mask=actions.is_null()
    )


def _texts_without(texts: pa.Array, gone: list[bool]) -> pa.Array:
    old = texts.to_pylist()
    new = [
        without_values(text) if goes and text is not None else text
        for text, goes in zip(old, gone, strict=True)
    ]
    return texts if new == old else pa.array(new, texts.type)


def _structs_without(structs: pa.StructArray, gone: list[bool]) -> pa.StructArray:
    fields = list(structs.type)
    children = [structs.field(at) for at in range(len(fields))]
    mask = pa.array(gone)
    new = [
        pc.if_else(mask, pa.scalar(None, child.type), child) if field.name in _VALUES else child
        for field, child in zip(fields, children, strict=True)
    ]
    if all(one.equals(other) for one, other in zip(new, children, strict=True)):
        return structs
    return pa.StructArray.from_arrays(new, fields=fields, mask=structs.is_null())
