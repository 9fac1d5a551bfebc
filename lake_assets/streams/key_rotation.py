"""Going over to another masking key: all of silver is hashed anew, and then says so."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.table_owners import is_there
from lake_assets.errors import ExpectationFailedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import beside_it
from lake_assets.model.tables import TableRef, quarantine_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.lost_rows import clear_lost, lost_rows, note_lost
from lake_assets.silver.masking_key import (
    begin_rotation,
    cancel_rotation,
    has_others,
    is_rotating,
    record,
)
from lake_assets.silver.selecting_format import hashing_key
from lake_assets.state.files import streams_lock
from lake_assets.storage.store import Store


@contextmanager
def rotating(demux: Demux, state_dir: Path) -> Iterator[None]:
    """In the block all of silver is derived with the key that is set now; then the tables say so.

    Where that is another key than before, the tables say from before the block on that they go over
    to it. A death leaves tables that say so, and streams refuse them with any key until all of
    silver was derived again: with this key, the former one or a third.

    Other feeds whose hashes are in the tables are refused until theirs has run, too.

    Raises:
        StreamsLockedError: it is another key than the tables were hashed with, and the streams run.
        LakeError: the lake cannot be read or written.
    """
    key, committer = hashing_key(demux.format), demux.context.committer
    if not key:
        yield
        return
    tables = _tables(demux)
    broke_off = is_rotating(committer, tables)
    is_other = broke_off or has_others(committer, tables, key)
    noted: Mapping[str, str] = {}
    if is_other:
        with streams_lock(state_dir):  # whoever streams has the former key
            begin_rotation(committer, tables, key)
        noted = _tell_others(demux.context.lake, demux.feed)
    try:
        yield
    except ExpectationFailedError:
        if is_other and not broke_off:  # it is found before anything is committed
            cancel_rotation(committer, tables)
            _take_back(demux.context.lake, noted)
        raise
    # They may have been started meanwhile, and look at tables only with the first batch.
    with streams_lock(state_dir) if is_other else nullcontext():
        record(committer, _tables(demux), key)


def _tables(demux: Demux) -> list[TableRef]:
    feed = demux.feed
    return [*map(feed.silver_table, keys_found(demux.context.lake, feed))]


def _tell_others(lake: Store, feed: Feed) -> Mapping[str, str]:
    """Have other feeds with hashes in the tables derive their rows again, too, before they go on.

    Before the feed's own rows have the new key: a death leaves a rebuild too many, not too few.
    Returns what was noted of each until now; empty of those of which nothing was.
    """
    hashing = {one.feed for one in feed.others if one.hashes}
    begun = [
        name for name in beside_it(feed) if name in hashing and is_there(lake, quarantine_of(name))
    ]
    fact = f"feed {feed.feed!r}, which fills its tables, too, went over to another masking key"
    before = {name: lost_rows(lake, name) for name in begun}
    note_lost(lake, begun, fact)
    return before


def _take_back(lake: Store, before: Mapping[str, str]) -> None:
    """Of each of these feeds what was noted before holds again, since no row was hashed anew."""
    for name, fact in before.items():
        if fact:
            note_lost(lake, [name], fact)
        else:
            clear_lost(lake, name)
