"""When a lake was last backed up, by place: noted by whoever did it, for alerts and for people.

The backups themselves say more, and are far away perhaps; nothing but words depends on what is
noted here. Times are the clock of the wall's, as those who look at their age go by it.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lake_assets.runtime.atomic_write import replace_bytes
from lake_assets.state.files import turn


class BackupNote(BaseModel):
    """What is known of one place."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    wanted_since: float | None = None
    """When it was first seen that backups are to go there on a schedule; seconds since 1970."""

    number: int | None = None
    """Of the last good one; None if there was none."""

    made_at: float | None = None
    """When its versions were chosen; seconds since 1970."""

    failed_at: float | None = None
    """When the last try failed, if it did; seconds since 1970."""

    why: str = ""
    """Why it failed, in words."""


_NOTES = TypeAdapter(dict[str, BackupNote])


def note_of(state_dir: Path, place: str) -> BackupNote:
    """What is noted of a place; nothing if it is new, or what was noted cannot be read."""
    return _read(state_dir).get(place, BackupNote())


def noted_places(state_dir: Path) -> list[str]:
    """Where backups went or are to go, as whoever noted it named it."""
    return list(_read(state_dir))


def is_last_of_a_place(state_dir: Path, number: int, made_at: float) -> bool:
    """Whether the last good backup of some place has this number and time, as `note_made` gets."""
    notes = _read(state_dir).values()
    return any((note.number, note.made_at) == (number, made_at) for note in notes)


def places_of(state_dir: Path) -> list[str]:
    """The places that have good backups of the lake, as far as anything is noted."""
    return sorted(place for place, note in _read(state_dir).items() if note.number is not None)


def forget(state_dir: Path, place: str) -> bool:
    """Know nothing of a place any more, since it is gone for good; whether anything was known.

    Raises:
        LakeError: the state folder cannot be written.
        OSError: likewise.
    """
    with turn(state_dir, "backup-notes"):
        notes = _read(state_dir)
        is_known = notes.pop(place, None) is not None
        if is_known:
            replace_bytes(_file(state_dir), _NOTES.dump_json(notes, indent=1))
    return is_known


def note_wanted(state_dir: Path, place: str, now: float) -> None:
    """Note that backups are to go to a place on a schedule, if it is not noted yet.

    Raises:
        LakeError: the state folder cannot be written.
        OSError: likewise.
    """
    if note_of(state_dir, place).wanted_since is None:
        _change(state_dir, place, wanted_since=now)


def note_made(state_dir: Path, place: str, number: int, made_at: float) -> None:
    """Note a good backup; raises as `note_wanted`."""
    _change(state_dir, place, number=number, made_at=made_at, failed_at=None, why="")


def note_failed(state_dir: Path, place: str, at: float, why: str) -> None:
    """Note a try that failed; raises as `note_wanted`."""
    _change(state_dir, place, failed_at=at, why=why)


def _change(state_dir: Path, place: str, **fields: object) -> None:
    with turn(state_dir, "backup-notes"):
        notes = _read(state_dir)
        notes[place] = notes.get(place, BackupNote()).model_copy(update=fields)
        replace_bytes(_file(state_dir), _NOTES.dump_json(notes, indent=1))


def _read(state_dir: Path) -> dict[str, BackupNote]:
    try:
        return _NOTES.validate_json(_file(state_dir).read_bytes())
    except (FileNotFoundError, ValidationError):
        return {}


def _file(state_dir: Path) -> Path:
    return state_dir / "backups.json"
