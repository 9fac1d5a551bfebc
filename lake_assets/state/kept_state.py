"""What outlasts a state folder, kept in a bucket: one file, replaced as a whole on a condition.

With `LAKE_ASSETS_STATE=s3://…` a machine's state folder may be lost at any time. What is kept of it
and how two copies are brought together is decided in `kept_rules`; whose the file is, in `binding`;
when they are brought together, `keep` says.
"""

import shutil
from collections.abc import Callable, Mapping
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
    OF_TABLES,
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
            former: the lake's state folder so far, whose files count before what is kept.

        Raises:
            LakeError: as `bring_together`.
            OSError: likewise.
        """
        with lock(self.state_dir / _LOCK):
            (self.state_dir / _BASE).unlink(missing_ok=True)
            own = self._own_record()
            if own is not None and own.id not in {record.id, record.replaces}:
                self._forget()
            if former is not None:
                for name, text in _kept_in(former)[0].items():
                    replace_text(self.state_dir / name, text)
                replace_text(self.state_dir / _BASE, "{}")  # all of it is new
            self._together(record, is_writer=former is not None, is_taken=True)

    def bring_together(self, *, is_writer: Callable[[], bool]) -> None:
        """Take from folder and bucket what changed in either since the last time.

        Args:
            is_writer: whether this machine writes the lake, so that its changes come first; asked
                only where something is to be done.

        Raises:
            LakeError: the bucket cannot be read or written, or the file is damaged or of another
                lake.
            OSError: the folder cannot be read or written.
        """
        with lock(self.state_dir / _LOCK):
            own = self._own_record()
            if own is not None:  # else nobody's yet: a restore is about to say whose it is
                self._together(own, is_writer=is_writer())

    def has_changed(self) -> bool:
        """Whether the folder has something that the bucket has not, as far as the folder knows.

        Raises:
            OSError: the folder cannot be read.
        """
        return digests(_kept_in(self.state_dir)[0]) != self._base()

    def _together(self, record: Record, *, is_writer: bool, is_taken: bool = False) -> None:
        file = self._file()
        for _ in range(_ATTEMPTS):
            found, (here, damaged) = _read(file), _kept_in(self.state_dir)
            if found is not None and found.record.id != record.id and not is_taken:
                fact = f"is of lake {found.record.id}, and {self.state_dir} of lake {record.id}"
                raise LakeError(str(file), fact, "Run the command again: it says what to do")
            every = {} if found is None else found.files
            there = {name: text for name, text in every.items() if is_kept(name)}
            # Where nothing was kept so far, all that the folder has is new.
            base = {} if found is None else self._base()
            if base is not None:
                base = {name: known for name, known in base.items() if name not in damaged}
            both = merged(base, here, there, is_writer=is_writer)
            of = record if found is None or is_taken else found.record
            # What is no file of this release stays as it is, and is written nowhere.
            others = {name: text for name, text in every.items() if not is_kept(name)}
            kept = Kept(record=of, files={**others, **both.there})
            if kept != found and not file.write(_KEPT.dump_json(kept, exclude_none=True)):
                continue
            self._write(both.here, here)
            replace_bytes(self.state_dir / _BASE, _DIGESTS.dump_json(digests(both.there)))
            return
        fact = "was replaced by others each time that it was read"
        raise LakeError(str(file), fact, "Run one command at a time")

    def _write(self, changes: Mapping[str, str | None], seen: Files) -> None:
        now, _ = _kept_in(self.state_dir)
        for name, text in changes.items():
            path = self.state_dir / name
            if now.get(name) != seen.get(name):
                continue  # changed meanwhile: the next time
            if text is None:
                path.unlink(missing_ok=True)
            else:
                replace_text(path, text)

    def _forget(self) -> None:
        """Delete what is of the tables of another lake, which was at the same address."""
        for name in (*KEPT_FILES, *KEPT_FOLDERS, *OF_TABLES):
            path = self.state_dir / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _base(self) -> dict[str, str] | None:
        try:
            return _DIGESTS.validate_json((self.state_dir / _BASE).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _own_record(self) -> Record | None:
        """What the folder says, which makes the file again where somebody deleted it."""
        try:
            return RECORD_JSON.validate_json(state_record(self.state_dir).read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            fact, step = "is damaged, and nothing is kept", "Delete it, and run the command again"
            raise LakeError(str(state_record(self.state_dir)), fact, step) from None

    def _file(self) -> ConditionalFile:
        return ConditionalFile(self.place / FILE, self.options)


def _kept_in(folder: Path) -> tuple[dict[str, str], set[str]]:
    """What a folder has, and the names of what is no text: damaged, the bucket's copy counts."""
    paths = [folder / name for name in KEPT_FILES]
    paths += [path for name in KEPT_FOLDERS for path in (folder / name).glob("*.json")]
    found: dict[str, str] = {}
    damaged: set[str] = set()
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if is_kept(name):
            try:
                # As they are written: in UTF-8, whatever the machine's own, and each line's end.
                found[name] = path.read_bytes().decode()
            except FileNotFoundError:
                continue
            except UnicodeDecodeError:
                damaged.add(name)
    return found, damaged


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
