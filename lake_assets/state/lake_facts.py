"""What a lake and a state folder record of each other, as it is found. Reads only.

Whether they belong together is decided from it in `binding`, and `lake_id` writes the records.
"""

import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.places import USUAL_STATE
from lake_assets.settings.schema import Settings
from lake_assets.state.binding import Facts, Place, Record, Side
from lake_assets.state.lake_record import (
    RECORD_JSON,
    LakeRecord,
    lake_around,
    noted_elsewhere,
    place_of,
    state_record,
)

if TYPE_CHECKING:
    from lake_assets.state.kept_state import KeptState


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """What releases before the record in the lake wrote: an id, and the state folder it was of."""

    id: str
    place: Place


_FORMER = TypeAdapter(tuple[_Entry, ...])


def look(settings: Settings, record: LakeRecord) -> Facts:
    """What a decision goes by; reads only.

    Raises:
        LakeError: the lake or the state folder cannot be read.
    """
    try:
        return _facts(settings, record)
    except OSError as problem:
        raise LakeError(
            str(problem.filename or settings.state_dir),
            f"cannot be read ({problem.strerror})",
            "Correct it or its permissions, or set another LAKE_ASSETS_STATE",
        ) from problem


def _facts(settings: Settings, record: LakeRecord) -> Facts:
    lake = read_lake(record)
    state = _read_state(settings, lake.record)
    usual = state.place
    if not lake.place.is_in_bucket:
        usual = place_of(settings.lake_dir / USUAL_STATE)
    named = [side.record for side in (lake, state) if side.record is not None]
    is_elsewhere = lake.record is not None and not lake.record.state.is_same(state.place)
    return Facts(
        lake=lake,
        state=state,
        usual=usual,
        is_left_in_lake=not usual.is_same(state.place) and _has_files(Path(usual.path)),
        lake_twin=any(
            _id_in(noted_elsewhere(one.lake.path, settings)) == one.id
            for one in named
            if not one.lake.is_same(lake.place)
        ),
        state_twin=is_elsewhere and _is_state(settings, lake.record, state.place),
        state_there=is_elsewhere and _is_there(lake.record),
        former=() if state.place.is_in_bucket else _former(state_record(settings.state_dir)) or (),
        new_id=secrets.token_hex(4),
        lake_around=None if state.place.is_in_bucket else lake_around(state.place, lake.place),
    )


def kept_of(settings: Settings) -> "KeptState | None":
    """What is kept of the state in a bucket; None where all of it is in a folder.

    Raises:
        SettingsError: an option of the bucket cannot be used.
    """
    if settings.state_root is None:
        return None
    # Loaded only for buckets, as their store is.
    from lake_assets.state.kept_state import KeptState  # noqa: PLC0415

    options = settings.storage.secrets
    return KeptState(place=settings.state_root, options=options, state_dir=settings.state_dir)


def state_place(settings: Settings) -> Place:
    """Where the state is, as records have it: the folder, or what is kept of it.

    Raises:
        OSError: the folder cannot be looked at.
    """
    kept = settings.state_root
    return place_of(settings.state_dir) if kept is None else Place.in_bucket(str(kept))


def is_noted_here(settings: Settings, facts: Facts) -> bool:
    """Whether this machine's folder says so as well, where the state is kept in a bucket.

    Raises:
        OSError: the folder cannot be read.
    """
    if settings.state_root is None:
        return True
    return read_state(settings.state_dir).record == facts.lake.record


def former_state(facts: Facts) -> Path | None:
    """The folder of this machine that a lake's state is in so far, if it is to be elsewhere."""
    of_lake = facts.lake.record
    if of_lake is None or of_lake.state.is_in_bucket or of_lake.state.is_same(facts.state.place):
        return None
    folder = Path(of_lake.state.path)
    return folder if _id_in(_content_of_state(folder)) == of_lake.id else None


def _read_state(settings: Settings, of_lake: Record | None) -> Side:
    kept = kept_of(settings)
    noted = read_state(settings.state_dir)
    if kept is None:
        return noted
    place = state_place(settings)
    if noted.record is not None and noted.record == of_lake and of_lake.state == place:
        return Side(place=place, record=noted.record)  # nothing is to be asked
    found = kept.read()
    return Side(place=place, record=found.record if found else None)


def _is_state(settings: Settings, of_lake: Record | None, state: Place) -> bool:
    """Whether the other place that a lake names still has its state."""
    if of_lake is None:
        return False
    if not of_lake.state.is_in_bucket:
        # A folder that is to be kept in a bucket from now on is taken along.
        is_id = _id_in(_content_of_state(Path(of_lake.state.path))) == of_lake.id
        return is_id and not state.is_in_bucket
    root = LakeUri.parse(of_lake.state.path)
    if settings.lake_root.scheme != root.scheme:
        return False
    from lake_assets.state.kept_state import KeptState  # noqa: PLC0415 - as `kept_of`

    options = settings.storage.secrets
    found = KeptState(place=root, options=options, state_dir=settings.state_dir).read()
    return found is not None and found.record.id == of_lake.id


def _is_there(of_lake: Record | None) -> bool:
    if of_lake is None or of_lake.state.is_in_bucket:
        return False
    return place_of(Path(of_lake.state.path)).is_untouched(of_lake.state)


def read_lake(record: LakeRecord) -> Side:
    """What the lake says.

    Raises:
        OSError: its folder cannot be read.
        LakeError: its bucket cannot be read.
    """
    return _side(record.place, record.read())


def read_state(folder: Path) -> Side:
    """What a state folder says.

    Raises:
        OSError: it cannot be read.
    """
    place, content = place_of(folder), None
    with suppress(FileNotFoundError, NotADirectoryError):
        content = state_record(folder).read_bytes()
    return _side(place, content)


def _side(place: Place, content: bytes | None) -> Side:
    if content is None:
        return Side(place=place)
    try:
        return Side(place=place, record=RECORD_JSON.validate_json(content))
    except ValidationError:
        return Side(place=place, is_damaged=_entries(content) is None)


def _content_of_state(folder: Path) -> bytes | None:
    with suppress(OSError):
        return state_record(folder).read_bytes()
    return None


def _former(file: Path) -> tuple[tuple[str, Place], ...] | None:
    """Ids of an older release; none of a file of this one, and None of one that is damaged."""
    try:
        return _entries(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _entries(content: bytes) -> tuple[tuple[str, Place], ...] | None:
    try:
        return tuple((entry.id, entry.place) for entry in _FORMER.validate_json(content))
    except ValidationError:
        return None


def _id_in(content: bytes | None) -> str | None:
    """The id that a record says, if it is one."""
    if content is None:
        return None
    try:
        return RECORD_JSON.validate_json(content).id
    except ValidationError:
        return None


def _has_files(folder: Path) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError):
        return any(True for _ in folder.iterdir())
    return False
