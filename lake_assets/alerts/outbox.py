"""The book of alerts: problems that are open, and alerts that some sink has not taken yet.

Both are in one file and change together, so that a crash between them neither repeats an alert nor
loses one. A sink's alerts stay in order, and one goes only after its sink took it: a crash in
between delivers it again (at least once, with the same id).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from lake_assets.alerts.decide import Tracked
from lake_assets.model.alerts import Alert
from lake_assets.runtime.atomic_write import replace_text

_AT_MOST = 10_000
"""Alerts kept for sinks that are down: about 6 MB, rewritten with each delivery. Beyond it the
oldest go. The log, which is never down, has had them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """An alert and the sinks that have yet to take it."""

    alert: Alert
    to: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Book:
    """All that alerts remember; oldest first."""

    tracked: tuple[Tracked, ...] = ()
    letters: tuple[Letter, ...] = ()

    def post(
        self, alerts: Sequence[Alert], sinks: Sequence[str], *, at_most: int = _AT_MOST
    ) -> tuple[Self, int]:
        """Add alerts for these sinks; returns the book, and how many old ones had to go."""
        letters = (*self.letters, *(Letter(alert=alert, to=tuple(sinks)) for alert in alerts))
        return replace(self, letters=letters[-at_most:]), max(0, len(letters) - at_most)

    def next_for(self, sink: str) -> Letter | None:
        """The oldest alert that a sink has not taken."""
        return next((letter for letter in self.letters if sink in letter.to), None)

    def waiting_for(self, sink: str) -> int:
        """How many alerts a sink has not taken."""
        return sum(sink in letter.to for letter in self.letters)

    def taken(self, letter: Letter, sink: str) -> Self:
        """The book after a sink took an alert."""
        place = self.letters.index(letter)
        rest = tuple(name for name in letter.to if name != sink)
        left = (replace(letter, to=rest),) if rest else ()
        return replace(self, letters=(*self.letters[:place], *left, *self.letters[place + 1 :]))


_BOOK = TypeAdapter(Book)


def book_path(state_dir: Path) -> Path:
    """Where the book of a lake lies."""
    return state_dir / "alerts.json"


def write_book(state_dir: Path, book: Book) -> None:
    """Put a book in the place of the last one, in one step."""
    replace_text(book_path(state_dir), _BOOK.dump_json(book).decode())


def read_book(state_dir: Path) -> tuple[Book, Path | None]:
    """The lake's book; one that cannot be read is put aside, and where to is returned with it."""
    path = book_path(state_dir)
    try:
        return _BOOK.validate_json(path.read_bytes()), None
    except FileNotFoundError:
        return Book(), None
    except ValidationError:
        names = (path.with_name(f"{path.name}.unreadable-{n}") for n in itertools.count(1))
        aside = next(name for name in names if not name.exists())
        path.rename(aside)
        return Book(), aside
