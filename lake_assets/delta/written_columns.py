"""The columns that a commit's new files were written for, where others may change the table's.

A plan that decodes is made for the columns that tables have then. Where several feeds fill a table,
another one may make a column wider meanwhile: files of the former type would stand in a table of
the new one. So a commit says which columns its files have, and whoever makes it looks whether the
table still takes these.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import Commit
from lake_assets.delta.create_table import as_delta
from lake_assets.errors import ColumnsChangedError

WRITTEN_FOR = "lake_assets.written_columns"
"""Key in a commit's custom metadata: a JSON object by column a line, with types as Delta has them.
"""


def written_for(columns: Iterable[pa.Schema]) -> Mapping[str, str]:
    """What a commit's information says of the columns of its new files."""
    texts = {json.dumps(_types(as_delta(schema).to_json()), sort_keys=True) for schema in columns}
    return {WRITTEN_FOR: "\n".join(sorted(texts))} if texts else {}


def columns_misfit(commit: Commit, handle: DeltaTable) -> str:
    """In words, which column new files have otherwise than their table; empty if there is none.

    The table may have more columns, and more fields in structs: files lack those of tomorrow.
    """
    if not commit.files or WRITTEN_FOR not in commit.info:
        return ""
    has = _types(handle.schema().to_json())
    for text in commit.info[WRITTEN_FOR].splitlines():
        for name, kind in json.loads(text).items():
            if name not in has:
                return f"has no column {name}, and new files of it have"
            if not _takes(has[name], kind):
                now, then = _in_words(has[name]), _in_words(kind)
                return f"has its column {name} as {now}, and new files of it as {then}"
    return ""


def ensure_columns(commit: Commit, handle: DeltaTable) -> None:
    """Make sure that a table still has the columns that new files were written for.

    Raises:
        ColumnsChangedError: it has not.
    """
    if fact := columns_misfit(commit, handle):
        raise ColumnsChangedError(
            commit.table.name,
            f"{fact}: another feed that fills it changed it",
            "The batch is decoded again for the columns that there are now",
        )


def _types(schema: str) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in json.loads(schema)["fields"]}


def _takes(has: Any, kind: Any) -> bool:  # noqa: ANN401 - JSON of Delta's
    """Whether a column of a type reads files of another."""
    if not isinstance(has, dict) or not isinstance(kind, dict):
        return bool(has == kind)
    if has["type"] != kind["type"]:
        return False
    if has["type"] == "struct":
        fields = {field["name"]: field["type"] for field in has["fields"]}
        return all(
            field["name"] in fields and _takes(fields[field["name"]], field["type"])
            for field in kind["fields"]
        )
    parts = ("elementType",) if has["type"] == "array" else ("keyType", "valueType")
    return all(_takes(has[part], kind[part]) for part in parts)


def _in_words(kind: Any) -> str:  # noqa: ANN401 - JSON of Delta's
    return kind if isinstance(kind, str) else str(kind["type"])
