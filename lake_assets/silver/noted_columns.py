"""What silver's columns are made from, where a feed's `select` tells, as the streams noted it."""

from collections.abc import Mapping

from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.select_notes import SelectedColumn, SelectNote, read_select


def noted_columns(settings: Settings, feed: Feed) -> Mapping[str, SelectedColumn]:
    """What the streams noted of a feed's silver; empty where nothing is selected, or noted yet."""
    note = _note_of(settings, feed)
    return {} if note is None else note.columns


def noted_columns_of(
    settings: Settings, feed: Feed, key: str | None
) -> Mapping[str, SelectedColumn]:
    """The same of one key's table, where keys select for themselves."""
    note = _note_of(settings, feed)
    return {} if note is None else note.of_key(key or "")


def _note_of(settings: Settings, feed: Feed) -> SelectNote | None:
    if not feed.select and not feed.selects:
        return None
    return read_select(settings.state_dir, feed.feed, feed.select, feed.selects)


def in_words(columns: Mapping[str, SelectedColumn]) -> dict[str, str]:
    """By column, what it is made from: `payload field time`, `computed from heart_bpm`."""
    return {name: _words(one) for name, one in columns.items()}


def _words(one: SelectedColumn) -> str:
    read = ", ".join(one.reads)
    if one.is_copy:
        return f"payload field {read}"
    return f"computed from {read}" if read else "the same for all rows"
