"""What outlasts a state folder, kept in a bucket: one file, replaced as a whole on a condition.

With `LAKE_ASSETS_STATE=s3://…` a machine's state folder may be lost at any time. What is kept of it
and how two copies are brought together is decided in `kept_rules`; whose the file is, in `binding`;
when they are brought together, `keep` says.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.runtime.atomic_write import replace_bytes, replace_text
from lake_assets.runtime.file_lock import lock
from lake_assets.state.binding import Record
from lake_assets.state.kept_rules import (
    KEPT_FILES,
    KEPT_FOLDERS,
    Files,
    digests,
    is_kept,
    merged,
)
from lake_assets.state.lake_record import RECORD_JSON, state_record
from lake_assets.storage.conditional import ConditionalFile

FILE = "state.json"
"""Its name, right in the folder that the setting names."""

_BASE, _LOCK = "kept-state.json", "kept-state.lock"
"""In the state folder: what both copies had when they were last compared."""

_ATTEMPTS = 5
"""While others write the file at the same time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What the file says."""

    record: Record
    """Of the lake that it is of."""

    files: Files = field(default_factory=dict)


_KEPT = TypeAdapter(Kept)
_DIGESTS = TypeAdapter(dict[str, str])


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptState:
    """The kept state of a lake, and the folder that works with it; of any number of threads."""

    place: LakeUri
    """The folder in a bucket."""

    options: Mapping[str, str] = field(repr=False)
    """Of the bucket, as deltalake takes them."""

    state_dir: Path

    def read(self) -> Kept | None:
        """What is kept; None if nothing is.

        Raises:
            LakeError: the bucket cannot be read, or the file is damaged.
        """
        return _read(self._file())

    def take(self, record: Record, former: Path | None = None) -> None:
        """Have the bucket say whose state it keeps, and the folder have all of it.

        What the folder has of another lake, or of nobody knows which, does not count.

        Args:
            record: of the lake.
            former: the lake's state folder so far, whose files are kept where none are yet.

        Raises:
            LakeError: as `bring_together`.
            OSError: likewise.
        """
        with lock(self.state_dir / _LOCK):
            (self.state_dir / _BASE).unlink(missing_ok=True)
            if former is not None and self.read() is None:
                for name, text in _kept_in(former).items():
                    replace_text(self.state_dir / name, text)
            self._together(record, is_writer=False)

    def bring_together(self, *, is_writer: Callable[[], bool]) -> None:
        """Take from folder and bucket what changed in either since the last time.

        Args:
            is_writer: whether this machine writes the lake, so that its changes come first; asked
                only where something is to be done.

        Raises:
            LakeError: the bucket cannot be read or written, or the file is damaged.
            OSError: the folder cannot be read or written.
        """
        with lock(self.state_dir / _LOCK):
            self._together(None, is_writer=is_writer())

    def has_changed(self) -> bool:
        """Whether the folder has something that the bucket has not, as far as the folder knows.

        Raises:
            OSError: the folder cannot be read.
        """
        return digests(self._here()) != self._base()

    def _together(self, record: Record | None, *, is_writer: bool) -> None:
        file = self._file()
        for _ in range(_ATTEMPTS):
            found, here = _read(file), self._here()
            there = {} if found is None else found.files
            # Where nothing was kept so far, all that the folder has is new.
            base = {} if found is None else self._base()
            both = merged(base, here, there, is_writer=is_writer)
            of = record or (found.record if found else self._own_record())
            kept = Kept(record=of, files=both.there)
            if kept != found and not file.write(_KEPT.dump_json(kept, exclude_none=True)):
                continue
            self._write(both.here, here)
            replace_bytes(self.state_dir / _BASE, _DIGESTS.dump_json(digests(both.there)))
            return
        fact = "was replaced by others each time that it was read"
        raise LakeError(str(file), fact, "Run one command at a time")

    def _write(self, changes: Mapping[str, str | None], seen: Files) -> None:
        now = self._here()
        for name, text in changes.items():
            path = self.state_dir / name
            if now.get(name) != seen.get(name):
                continue  # changed meanwhile: the next time
            if text is None:
                path.unlink(missing_ok=True)
            else:
                replace_text(path, text)

    def _here(self) -> dict[str, str]:
        return _kept_in(self.state_dir)

    def _base(self) -> dict[str, str] | None:
        try:
            return _DIGESTS.validate_json((self.state_dir / _BASE).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _own_record(self) -> Record:
        """What the folder says, which makes the file again where somebody deleted it."""
        try:
            return RECORD_JSON.validate_json(state_record(self.state_dir).read_bytes())
        except ValidationError:
            fact, step = "is damaged, and nothing is kept", "Delete it, and run the command again"
            raise LakeError(str(state_record(self.state_dir)), fact, step) from None

    def _file(self) -> ConditionalFile:
        return ConditionalFile(self.place / FILE, self.options)


def _kept_in(folder: Path) -> dict[str, str]:
    paths = [folder / name for name in KEPT_FILES]
    paths += [path for name in KEPT_FOLDERS for path in (folder / name).glob("*.json")]
    found = {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if is_kept(name):
            with suppress(FileNotFoundError):
                found[name] = path.read_text()
    return found


def _read(file: ConditionalFile) -> Kept | None:
    content = file.read()
    if content is None:
        return None
    try:
        return _KEPT.validate_json(content)
    except ValidationError:
        fact = "is no state of a lake: its content is damaged"
        step = "Delete it once nothing writes the lake: alerts may be sent again"
        raise LakeError(str(file), fact, step) from None
