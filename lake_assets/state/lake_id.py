"""A lake's id, by which it and its state folder know each other, and a Dagster instance knows it.

It is kept on both sides, in `_lake.json` of the lake and `lake.json` of the state folder, with the
places of both. Whether they belong together is decided in `state.binding`.
"""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import ForeignStateError, LakeError
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.file_lock import lock
from lake_assets.settings.schema import USUAL_STATE, Settings
from lake_assets.state.binding import (
    Bind,
    Bound,
    Decision,
    Facts,
    Place,
    Record,
    Refuse,
    Side,
    decide,
)
from lake_assets.state.files import ensure_writable, turn

_RECORD = TypeAdapter(Record)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """What releases before the record in the lake wrote: an id, and the state folder it was of."""

    id: str
    place: Place


_FORMER = TypeAdapter(tuple[_Entry, ...])


def lake_id(settings: Settings) -> str:
    """The id of the lake, made when it is first asked for; lake and state folder belong together.

    Whoever writes either asks first. A lake that is moved, restored or mounted elsewhere keeps its
    id; a copy beside the original is another lake and gets its own.

    Raises:
        ForeignStateError: they do not belong together, or nothing shows that they do; nothing was
            changed.
        LakeError: one of them cannot be read, or is to record the id and cannot be written; or a
            restore of the lake is not whole.
    """
    ensure_whole(settings)
    decision = decide(_look(settings))
    if isinstance(decision, Bound):
        return decision.id
    if isinstance(decision, Refuse):
        raise _refused(settings, decision)
    lake = settings.lake_dir
    ensure_writable(lake)
    # Others of this lake, whatever state folder they have; then others of this state folder.
    with lock(lake / "_lake.lock"), turn(settings.state_dir, "lake-id"):
        facts = _look(settings)  # another process may have been first
        decision = decide(facts)
        if isinstance(decision, Refuse):
            raise _refused(settings, decision)
        if isinstance(decision, Bind):
            _bind(settings, facts, decision.id)
        return decision.id


def ensure_bound(settings: Settings) -> None:
    """Make sure that the lake and the state folder belong together; raises as `lake_id`."""
    lake_id(settings)


RESTORING = "_restore.json"
"""In a lake's folder while a backup is put there: nothing else may use the lake then."""


def ensure_whole(settings: Settings) -> None:
    """Make sure that no restore of the lake is under way, or was cut off.

    Raises:
        LakeError: one is, or was.
    """
    if (settings.lake_dir / RESTORING).exists():
        raise LakeError(
            str(settings.lake_dir),
            "is being restored from a backup, or that was cut off",
            "Run `lake-assets restore` with the same backup (again); it goes on where it was",
        )


def take_identity(settings: Settings, backed_up: Record) -> None:
    """Have a lake that was put here from a backup be the one that was backed up.

    Its record says that its state is the folder of the settings, as nobody can be at another one of
    this copy. If the lake lives on where it was, `lake_id` gives this one another id. A lake that
    says already which it is stays that.

    Raises:
        ForeignStateError: the state folder is another lake's; nothing was changed.
        LakeError: the lake or the state folder cannot be read or written.
    """
    file = _of_lake(settings.lake_dir)
    if file.exists():
        return
    ensure_writable(settings.state_dir)
    _write(file, replace(backed_up, state=_place_of(settings.state_dir)))
    decision = look_at_binding(settings)
    if isinstance(decision, Refuse):
        problem = _refused(settings, decision)
        file.unlink()
        raise problem


def recorded(settings: Settings) -> Record:
    """What the lake says of itself: its id, and where it and its state are.

    Raises:
        LakeError: it says nothing, or cannot be read.
    """
    record = _side(settings.lake_dir, _of_lake).record
    if record is None:
        fact = "does not say which lake it is"
        raise LakeError(str(_of_lake(settings.lake_dir)), fact, "Run any command that writes it")
    return record


def look_at_binding(settings: Settings) -> Decision:
    """What `lake_id` would do; reads only.

    Raises:
        LakeError: the lake or the state folder cannot be read.
    """
    return decide(_look(settings))


def _bind(settings: Settings, facts: Facts, id_: str) -> None:
    """Write both sides; a process that dies in between leaves what `decide` goes on from."""
    record = Record(id=id_, lake=facts.lake.place, state=facts.state.place)
    before = facts.lake.record.id if facts.lake.record else None
    if before not in {None, id_}:
        _write(_of_state(settings.state_dir), replace(record, replaces=before))
        _write(_of_lake(settings.lake_dir), record)
    _write(_of_state(settings.state_dir), record)
    if before in {None, id_}:
        _write(_of_lake(settings.lake_dir), record)


def _refused(settings: Settings, refusal: Refuse) -> ForeignStateError:
    facts = _look(settings)
    return ForeignStateError(
        lake=str(settings.lake_dir),
        state=str(settings.state_dir),
        ids=(facts.lake.id, facts.state.id),
        why=refusal.why,
        next_step=refusal.next_step,
    )


def _look(settings: Settings) -> Facts:
    try:
        return _facts(settings)
    except OSError as problem:
        raise LakeError(
            str(problem.filename or settings.state_dir),
            f"cannot be read ({problem.strerror})",
            "Correct it or its permissions, or set another LAKE_ASSETS_STATE",
        ) from problem


def _facts(settings: Settings) -> Facts:
    lake, state = _side(settings.lake_dir, _of_lake), _side(settings.state_dir, _of_state)
    usual = _place_of(settings.lake_dir / USUAL_STATE)
    named = [record for record in (lake.record, state.record) if record is not None]
    return Facts(
        lake=lake,
        state=state,
        usual=usual,
        is_left_in_lake=not usual.is_same(state.place) and _has_files(Path(usual.path)),
        lake_twin=any(
            _id_in(_of_lake(Path(record.lake.path))) == record.id
            for record in named
            if not record.lake.is_same(lake.place)
        ),
        state_twin=lake.record is not None
        and not lake.record.state.is_same(state.place)
        and _id_in(_of_state(Path(lake.record.state.path))) == lake.record.id,
        former=_former(_of_state(settings.state_dir)) or (),
        new_id=secrets.token_hex(4),
        lake_around=_lake_around(state.place, lake.place),
    )


def _side(folder: Path, record_of: Callable[[Path], Path]) -> Side:
    place, file = _place_of(folder), record_of(folder)
    try:
        return Side(place=place, record=_RECORD.validate_json(file.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return Side(place=place)
    except ValidationError:
        return Side(place=place, is_damaged=_former(file) is None)


def _former(file: Path) -> tuple[tuple[str, Place], ...] | None:
    """Ids of an older release; none of a file of this one, and None of one that is damaged."""
    try:
        return tuple((entry.id, entry.place) for entry in _FORMER.validate_json(file.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except ValidationError:
        return None


def _id_in(file: Path) -> str | None:
    """The id that is recorded in another folder, if that can be read."""
    try:
        return _RECORD.validate_json(file.read_bytes()).id
    except (OSError, ValidationError):
        return None


def _place_of(folder: Path) -> Place:
    path, device, inode = os.path.realpath(folder), 0, 0
    with suppress(FileNotFoundError, NotADirectoryError):
        status = folder.stat()
        device, inode = status.st_dev, status.st_ino
    return Place(path=path, device=device, inode=inode)


def _lake_around(state: Place, lake: Place) -> str | None:
    """The nearest folder above the state, or it itself, that is another lake's."""
    above = (folder for folder in (Path(state.path), *Path(state.path).parents))
    others = (folder for folder in above if str(folder) != lake.path)
    # Of a folder that may not be read nothing is known: unlike `Path.is_file`, this says so.
    found = (folder for folder in others if os.path.isfile(_of_lake(folder)))  # noqa: PTH113
    return next(map(str, found), None)


def _has_files(folder: Path) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError):
        return any(True for _ in folder.iterdir())
    return False


def _of_lake(lake: Path) -> Path:
    return lake / "_lake.json"


def _of_state(state_dir: Path) -> Path:
    return state_dir / "lake.json"


def _write(file: Path, record: Record) -> None:
    replace_text(file, _RECORD.dump_json(record, indent=1, exclude_none=True).decode())
