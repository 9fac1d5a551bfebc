"""A lake's id, by which it and its state folder know each other, and a Dagster instance knows it.

It is kept on both sides, in `_lake.json` of the lake and `lake.json` of the state folder, with the
places of both. Whether they belong together is decided in `state.binding`.
"""

import logging
from dataclasses import replace
from pathlib import Path

from lake_assets.errors import ForeignStateError, LakeError
from lake_assets.runtime.atomic_write import replace_bytes
from lake_assets.settings.schema import Settings
from lake_assets.state.binding import (
    Bound,
    Decision,
    Facts,
    Record,
    Refuse,
    decide,
)
from lake_assets.state.files import ensure_writable, turn
from lake_assets.state.lake_facts import (
    former_state,
    is_noted_here,
    kept_of,
    look,
    read_lake,
    state_place,
)
from lake_assets.state.lake_record import (
    RECORD,
    RECORD_JSON,
    LakeRecord,
    lake_record,
    state_record,
)
from lake_assets.storage.open_store import lake_of

_LOG = logging.getLogger(__name__)

_ATTEMPTS = 5
"""To note an id in a bucket while others of the lake do."""


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
    record = lake_record(settings)
    facts = look(settings, record)
    decision = decide(facts)
    if isinstance(decision, Bound) and is_noted_here(settings, facts):
        return decision.id
    if isinstance(decision, Refuse):
        raise _refused(settings, facts, decision)
    # Others of this lake, whatever state folder they have; then others of this state folder.
    with record.alone(), turn(settings.state_dir, "lake-id"):
        for _ in range(_ATTEMPTS):
            facts = look(settings, record)  # another process may have been first
            decision = decide(facts)
            if isinstance(decision, Refuse):
                raise _refused(settings, facts, decision)
            if isinstance(decision, Bound):
                if facts.lake.record and not is_noted_here(settings, facts):
                    _write_state(settings, facts.lake.record)
                return decision.id
            if _bind(settings, record, facts, decision.id):
                _tell_of_lost(settings, facts)
                return decision.id
    fact = "was noted anew by others each time that it was read"
    raise LakeError(f"{settings.lake_root}/{RECORD}", fact, "Run one command at a time")


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
    if settings.lake_root.is_local:
        is_whole = not (settings.lake_dir / RESTORING).exists()
    else:
        is_whole = lake_of(settings).stat(settings.lake_root / RESTORING) is None
    if not is_whole:
        raise LakeError(
            str(settings.lake_root),
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
    record = lake_record(settings)
    if record.read() is not None:
        return
    ensure_writable(settings.state_dir)
    record.write(_bytes(replace(backed_up, state=state_place(settings))))
    facts = look(settings, record)
    decision = decide(facts)
    if isinstance(decision, Refuse):
        lake_of(settings).delete(settings.lake_root / RECORD)
        raise _refused(settings, facts, decision)


def recorded(settings: Settings) -> Record:
    """What the lake says of itself: its id, and where it and its state are.

    Raises:
        LakeError: it says nothing, or cannot be read.
    """
    found = read_lake(lake_record(settings)).record
    if found is None:
        fact, step = "does not say which lake it is", "Run any command that writes it"
        raise LakeError(f"{settings.lake_root}/{RECORD}", fact, step)
    return found


def look_at_binding(settings: Settings) -> Decision:
    """What `lake_id` would do; reads only.

    Raises:
        LakeError: the lake or the state folder cannot be read.
    """
    return decide(look(settings, lake_record(settings)))


def _bind(settings: Settings, record: LakeRecord, facts: Facts, id_: str) -> bool:
    """Write both sides; a process that dies in between leaves what `decide` goes on from.

    Returns:
        False if others have noted something in the lake meanwhile.
    """
    noted = Record(id=id_, lake=facts.lake.place, state=facts.state.place)
    before = facts.lake.record.id if facts.lake.record else None
    if before not in {None, id_}:
        _write_state(settings, replace(noted, replaces=before))
        if not record.write(_bytes(noted)):
            return False
        _write_state(settings, noted)
    elif facts.lake.place.is_in_bucket:
        # First where another machine may be at it as well.
        if not record.write(_bytes(noted)):
            return False
        _write_state(settings, noted, former_state(facts))
    else:
        _write_state(settings, noted)
        record.write(_bytes(noted))
    return True


def _refused(settings: Settings, facts: Facts, refusal: Refuse) -> ForeignStateError:
    return ForeignStateError(
        lake=str(settings.lake_root),
        state=str(settings.state_dir),
        ids=(facts.lake.id, facts.state.id),
        why=refusal.why,
        next_step=refusal.next_step,
    )


def _write_state(settings: Settings, record: Record, former: Path | None = None) -> None:
    kept = kept_of(settings)
    if kept is not None:
        # All that is kept is in the folder before anybody takes it for the lake's.
        kept.take(record, former)
    replace_bytes(state_record(settings.state_dir), _bytes(record))


def _tell_of_lost(settings: Settings, facts: Facts) -> None:
    of_lake, state = facts.lake.record, facts.state
    if of_lake is None or facts.lake_twin or state.record or former_state(facts):
        return
    _LOG.warning(
        "%s: its state was %s, which is not here or has lost its id. Its state is %s now; if what "
        "was there is lost, alerts may be sent again",
        settings.lake_root,
        of_lake.state.path,
        state.place.path,
    )


def _bytes(record: Record) -> bytes:
    return RECORD_JSON.dump_json(record, indent=1, exclude_none=True)
