"""Finds new files, waits until they have settled, counts them, and puts them into the index.

A step at a time, each of bounded work, so that batches go on while a million files are found.
"""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice

import pyarrow.compute as pc

from lake_assets.errors import SourceError
from lake_assets.model.feeds import Feed
from lake_assets.sources.files.declared_messages import cut_of_new
from lake_assets.sources.files.file_formats import measure
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import (
    FOUND,
    GROWN,
    REWRITTEN,
    Change,
    Entry,
    changes_in,
    found_of,
    rows_of_index,
    samples_of,
)
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.known_names import KnownNames
from lake_assets.sources.files.measuring import Cut, Measured
from lake_assets.sources.files.open_place import open_place
from lake_assets.sources.files.opening import BadFileError
from lake_assets.sources.files.place import FilePlace
from lake_assets.sources.files.samples import sample_of
from lake_assets.sources.files.settling import Settling
from lake_assets.sources.files.written_schemas import KnownSchemas
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)

_CHUNK = 4_096
"""Names that are compared at once with those that are known."""

_MOST = 10_000
"""New files that are held at once, sorted by their times."""

_STEP_S = 5.0
"""Seconds that a step lists files, and counts them, about: one that was begun is counted."""

_AHEAD = 32
"""Files that a place may read before they are counted."""

_PAUSE_S = 0.5
_SHARE = 20
"""A look that took t seconds is repeated 20 t later at the soonest, and half a second at least."""


class Discovery:
    """Finds files of one feed; used by one thread."""

    def __init__(
        self,
        feed: Feed,
        lake: Store,
        index: FileIndex,
        place: FilePlace,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know what the index has.

        Raises:
            LakeError: the index cannot be read.
            SourceError: the schema cannot be read that is declared of messages.
        """
        self._cut = cut_of_new(feed)
        self._source = self._cut.source
        self._index, self._place, self._clock = index, place, clock
        self._known, self._last = KnownNames(), ""
        self._settling = Settling(self._source.settles_for_s)
        self._walk: Iterator[list[Found]] | None = None
        self._walk_began, self._next_at = 0.0, 0.0
        self._unsettled: set[str] = set()
        self._new: list[Found] = []
        self._looks = 0
        self._ends_with_new = False  # a look came to the folder's end, what it found is counted
        self._lake, self._feed = lake, feed.feed
        self._schemas = KnownSchemas(lake, feed)
        self._load()

    @property
    def looks(self) -> int:
        """How often the whole folder was looked at, and all that had settled went to the index."""
        return self._looks

    @property
    def waits(self) -> bool:
        """Whether files are there that have not settled."""
        return bool(self._unsettled)

    def look_again(self) -> None:
        """Begin the next look with the next step, however soon after the last."""
        self._next_at = 0.0

    def step(self) -> list[Entry]:
        """Go on finding, for some seconds.

        Returns:
            The files that the index got.

        Raises:
            SourceError: the folder cannot be read.
            LakeError: the lake cannot be written.
            CommitConflictError: another process adds to the index.
        """
        changes: list[Change] = []
        if not self._new and self._clock() >= self._next_at:
            changes = self._look()
        entries = self._count()
        self._index.add(entries, changes)
        self._known.add(entry.file for entry in entries)
        self._known.add(change.file for change in changes)
        for change in changes:
            about = (change.file.name, "has" if change.state == GROWN else "was", change.state)
            _LOG.warning("file %r %s %s since it was found, and is not read again", *about)
        return entries

    def _load(self) -> None:
        lake, feed = self._lake, self._feed
        if self._source.discovery == "ordered":
            self._last = _last_name(lake, feed)
            return
        self._known = _known_names(lake, feed)
        changes = sorted(changes_in(lake, feed), key=lambda change: change.noticed_at)
        self._known.add(change.file for change in changes)

    def _look(self) -> list[Change]:
        """Go on listing, until there are new files enough, or the folder's end."""
        if self._source.discovery == "ordered":
            self._look_on()
            return []
        changes: list[Change] = []
        if self._walk is None:
            self._walk = _in_chunks(self._place.files())
            self._walk_began, self._unsettled = self._clock(), set()
        until = self._clock() + _STEP_S
        try:
            for chunk in self._walk:
                new, changed = self._known.split(chunk)
                changes += self._changes(changed)
                self._new += self._settled(new)
                if len(self._new) >= _MOST or self._clock() >= until:
                    break
            else:
                self._end_look()
        except BaseException:
            self._walk = None  # what is left of it is not to be gone on with
            raise
        # What goes and comes again meanwhile, a folder may list twice.
        found = {(file.name, file.size, file.etag or file.modified_ns): file for file in self._new}
        self._new = sorted(found.values(), key=lambda file: (file.modified_ns, file.name))
        return changes

    def _look_on(self) -> None:
        """Look for names after the last one; none is taken before one that has not settled."""
        self._walk_began, self._unsettled = self._clock(), set()
        found = self._place.files_after(self._last, _MOST)
        for file in found.files:
            if not self._settled([file]):
                break
            self._new.append(file)
        if found.is_last or self._unsettled:
            self._end_look()

    def _end_look(self) -> None:
        now = self._clock()
        self._walk = None
        self._settling.forget(self._unsettled)
        self._next_at = now + max(_PAUSE_S, _SHARE * (now - self._walk_began))
        self._ends_with_new = True

    def _settled(self, files: list[Found]) -> list[Found]:
        now, now_ns = self._clock(), time.time_ns()
        settled = [file for file in files if self._settling.is_settled(file, now, now_ns)]
        self._unsettled |= {file.name for file in files} - {file.name for file in settled}
        return settled

    def _changes(self, changed: list[Found]) -> list[Change]:
        """What has become of files that are known, and have settled again."""
        settled = self._settled(changed)
        if not settled:
            return []
        at = datetime.now(UTC)
        known = samples_of(self._lake, self._feed, {file.name for file in settled})
        states = (self._state(one, *known.get(one.name, (one.size, ""))) for one in settled)
        return [
            Change(file=file, state=state, noticed_at=at)
            for file, state in zip(settled, states, strict=True)
        ]

    def _state(self, file: Found, size: int, sample: str) -> str:
        """What has become of a file, by its size and sample when it was found."""
        if file.size <= size:
            return REWRITTEN
        try:
            begins_so = not sample or sample_of(self._place.opener(file), size) == sample
        except (OSError, BadFileError):
            return GROWN  # nobody can tell
        return GROWN if begins_so else REWRITTEN

    def _count(self) -> list[Entry]:
        """Count new files, until the step's time is up."""
        until, end = self._clock() + _STEP_S, self._index.end
        entries: list[Entry] = []
        while self._new and (not entries or self._clock() < until):
            self._place.read_ahead(self._new[:_AHEAD])
            file = self._new.pop(0)
            try:
                entry = self._counted(file, end)
            except (SourceError, OSError):
                self._new.insert(0, file)
                if entries:
                    break  # what was counted is not lost; the next step meets the error again
                raise
            if entry is not None:
                entries.append(entry)
                end = entry.end
                self._last = max(self._last, file.name)
        if not self._new and self._walk is None and self._ends_with_new:
            self._looks, self._ends_with_new = self._looks + 1, False
        return entries

    def _counted(self, file: Found, first: int) -> Entry | None:
        """A file with its offsets; None if it went, or changes still."""
        opener = self._place.opener(file)
        try:
            measured = measure(self._cut, file.name, opener, file.size)
            sample = "" if measured.problem else sample_of(opener, file.size)
            is_still = self._place.is_still(file)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            if self._place.look(file.name) is None:
                return None
            measured, sample, is_still = Measured(lines=0), "", False  # it was away for a moment
        if not is_still:
            self._settling.is_settled(file, self._clock(), file.modified_ns)
            self._unsettled.add(file.name)
            if self._source.discovery == "ordered":
                self._new.clear()  # none of them may be taken before it
            return None
        measured = self._schemas.noted(measured)
        if measured.problem:
            _LOG.warning("file %r is not read: it %s", file.name, measured.problem)
        return Entry(
            file=file,
            first=first,
            lines=measured.lines,
            marks=measured.marks,
            problem=measured.problem,
            sample=sample,
            counted_as=self._cut.text,
            schema=measured.schema,
        )


def _in_chunks(files: Iterator[Found]) -> Iterator[list[Found]]:
    while chunk := list(islice(files, _CHUNK)):
        yield chunk


def has_new_files(feed: Feed, lake: Store) -> bool:
    """Whether a place has files that the index has not, settled or not; writes nothing.

    Raises:
        SourceError: the folder cannot be read.
        LakeError: the index cannot be read.
    """
    source = Cut.of(feed).source
    place = open_place(source)
    if source.discovery == "ordered":
        return any(True for _ in place.files_after(_last_name(lake, feed.feed), 1).files)
    known = _known_names(lake, feed.feed)
    return any(known.split(chunk)[0] for chunk in _in_chunks(place.files()))


def _known_names(lake: Store, feed: str) -> KnownNames:
    """The names that the index has, as they were found."""
    known = KnownNames()
    for rows in rows_of_index(lake, feed, ("file", "size", "modified_ns", "etag", "state")):
        known.add(found_of(row) for row in rows.to_pylist() if row["state"] == FOUND)
    return known


def _last_name(lake: Store, feed: str) -> str:
    """The greatest name that the index has."""
    names = (rows["file"] for rows in rows_of_index(lake, feed, ("file",)))
    return max((str(pc.max(part)) for part in names if len(part)), default="")
