"""Files leave their folder once bronze has all of their rows: into the archive, or for good.

What was done is found by looking: a file that is gone was taken care of. A file that changed since
it was found stays where it is. How one leaves is its place's.
"""

import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice

from lake_assets.delta.log_history import open_table
from lake_assets.delta.recorded_sources import sources_read
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceError
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import LISTING
from lake_assets.model.tables import bronze_of
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.place import FilePlace
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)


def bronze_reached(lake: Store, feed: Feed) -> int:
    """The offset before which bronze has all rows, by its own commits.

    Raises:
        LakeError: bronze cannot be read.
    """
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return 0
    log = log_of(lake, bronze_of(feed.feed))
    held = held_offsets(log, bronze, sources_read(log, bronze, feed.source))
    return dict(held).get((LISTING, 0), 0)


def clean(
    place: FilePlace,
    entries: Iterable[Entry],
    *,
    has_cleaned: bool = False,
    for_s: float = float("inf"),
) -> int:
    """Archive or delete files that bronze has, in their order, some at once.

    Args:
        place: where they are.
        entries: those files.
        has_cleaned: whether some left before. The archive is made for the first ones alone: when
            it is gone later, its disk is away, and what was put there would be on another one.
        for_s: seconds after which no further file is begun.

    Returns:
        The offset before which all of them are taken care of; 0 if the first could not be. What
        could not be is told in the log, and tried again with the next batch.
    """
    reached, until, left = 0, time.monotonic() + for_s, iter(entries)
    leave = partial(_leaves, place, makes_archive=not has_cleaned)
    with ThreadPoolExecutor(place.leaves_at_once) as pool:
        while time.monotonic() < until and (some := list(islice(left, place.leaves_at_once))):
            for entry, has_left in zip(some, list(pool.map(leave, some)), strict=True):
                if not has_left:
                    return reached
                reached = entry.end
    return reached


def _leaves(place: FilePlace, entry: Entry, *, makes_archive: bool) -> bool:
    """Whether a file is taken care of now."""
    try:
        place.leave(entry, makes_archive=makes_archive)
    except (OSError, SourceError) as problem:
        _LOG.warning("file %r cannot leave its folder: %s", entry.file.name, problem)
        return False
    return True
