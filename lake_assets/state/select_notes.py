"""What the streams noted of a feed's `select`: which columns it makes, of what, and computed where.

Spark alone can say that. One small file a feed beside the tables, so that the doctor and Dagster
need not start it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import LakeError
from lake_assets.runtime.atomic_write import replace_text


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectedColumn:
    """One column of silver."""

    reads: tuple[str, ...]
    """Columns of the payload that it is made from."""

    is_copy: bool
    """Whether it is the one that it reads, perhaps under another name."""

    spark_part: str = ""
    """What of it only Spark computes, as SQL; empty where tasks do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectNote:
    """What came of a feed's items."""

    select: tuple[str, ...]
    """The items; others than the feed has now are of another day."""

    columns: Mapping[str, SelectedColumn]
    """By name, in silver's order; of all that any key makes it of."""

    selects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The items of keys that have their own, likewise."""

    by_key: Mapping[str, Mapping[str, SelectedColumn]] = field(default_factory=dict)
    """Where keys have their own: by key, its columns; those of all other keys under no name."""

    def of_key(self, key: str) -> Mapping[str, SelectedColumn]:
        """The columns of a key's table."""
        return self.by_key.get(key, self.by_key.get("", self.columns))


_NOTE = TypeAdapter(SelectNote)


def note_select(state_dir: Path, feed: str, note: SelectNote) -> None:
    """Keep a note, unless it is there already.

    Raises:
        LakeError: the folder cannot be written.
    """
    path, text = _path(state_dir, feed), _NOTE.dump_json(note).decode()
    try:
        if path.exists() and path.read_bytes() == text.encode():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as problem:
        raise LakeError(str(path), f"cannot be written ({problem})", "Check the disk") from problem


def read_select(
    state_dir: Path,
    feed: str,
    select: tuple[str, ...],
    selects: Mapping[str, tuple[str, ...]] | None = None,
) -> SelectNote | None:
    """What was noted of these items; None if nothing was, or what is there is damaged."""
    try:
        note = _NOTE.validate_json(_path(state_dir, feed).read_text())
    except (OSError, UnicodeDecodeError, ValidationError):
        return None  # the next start of the streams writes it again
    return note if (note.select, note.selects) == (select, selects or {}) else None


def _path(state_dir: Path, feed: str) -> Path:
    return state_dir / "select" / f"{feed}.json"
