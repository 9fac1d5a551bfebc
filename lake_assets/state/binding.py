"""Whether a lake and a state folder belong together, decided from what both of them record. Pure.

A lake has one state folder at a time, and a state folder one lake: its locks keep a second process
off the lake only if that one asks the same locks. So both record the same id, and where each of
them was. Reading and writing the records is `state.lake_id`'s; why the rules are these is in
`docs/decisions/0035-a-state-folder-belongs-to-a-lake.md`.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A folder by its path and by what its file system calls it; either may change, not both.

    What is in a bucket has its address alone.
    """

    path: str
    device: int
    inode: int
    """Zero of a folder that is not there, and in a bucket."""

    @classmethod
    def in_bucket(cls, address: str) -> "Place":
        """A path in a bucket."""
        return cls(path=address, device=0, inode=0)

    @property
    def is_in_bucket(self) -> bool:
        """Whether it is no folder: those have paths from the root on."""
        return not self.path.startswith("/")

    def is_same(self, other: "Place") -> bool:
        """Whether it is the same folder, moved or put back from a backup perhaps."""
        return self.path == other.path or self._has_number_of(other)

    def is_untouched(self, other: "Place") -> bool:
        """Whether it is the same folder, neither moved nor put back nor with another mounted."""
        return self.path == other.path and self._has_number_of(other)

    def is_noted(self, other: "Place") -> bool:
        """Whether nothing of it is to be noted anew."""
        return self.is_untouched(other) or (self.is_in_bucket and self.path == other.path)

    def is_below(self, other: "Place") -> bool:
        """Whether its path is below another's."""
        return self.path.startswith(f"{other.path.rstrip('/')}/")

    def _has_number_of(self, other: "Place") -> bool:
        return self.inode != 0 and (self.device, self.inode) == (other.device, other.inode)


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What is noted on both sides."""

    id: str
    lake: Place
    state: Place
    replaces: str | None = None
    """On the state's side: the lake's id so far, until the lake has this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A lake or a state folder as it is found."""

    place: Place
    record: Record | None = None
    is_damaged: bool = False
    """Whether there is a record that cannot be read."""

    @property
    def id(self) -> str:
        """For messages."""
        damaged = "a damaged record" if self.is_damaged else "no id"
        return f"id {self.record.id}" if self.record else damaged


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """All that the decision goes by."""

    lake: Side
    state: Side
    usual: Place
    """Where the state lies if no setting says otherwise: in the lake."""

    is_left_in_lake: bool
    """Whether something is there, and another folder is asked for."""

    lake_twin: bool
    """Whether the lake that a record names is elsewhere, and still has that id."""

    state_twin: bool
    """Whether the state folder that the lake names is another one, and still has that id."""

    state_there: bool = False
    """Whether the state folder that the lake names is another one, and is there, id or not."""

    former: tuple[tuple[str, Place], ...]
    """Ids of a release that had no record in the lake, and the state folder that each was of."""

    new_id: str
    """What the lake may be called."""

    lake_around: str | None = None
    """The folder of another lake that the state folder lies in."""

    @property
    def is_inside(self) -> bool:
        """Whether the state lies in the lake, and so goes with it wherever it goes."""
        return self.state.place.is_below(self.lake.place)


@dataclass(frozen=True, slots=True)
class Bound:
    """They belong together, and both say so."""

    id: str


@dataclass(frozen=True, slots=True)
class Bind:
    """They belong together, or may from now on; both are to say so."""

    id: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """They do not, or nothing shows that they do."""

    why: str
    next_step: str


Decision: TypeAlias = Bound | Bind | Refuse


def decide(facts: Facts) -> Decision:
    """Whether this lake may be written with this state folder."""
    lake, state = facts.lake, facts.state
    if lake.is_damaged and not (state.record and state.record.lake.is_same(lake.place)):
        return Refuse(
            f"{lake.place.path}/_lake.json is damaged, and nothing else shows which is the lake's",
            "Delete that file if no other state folder is this lake's",
        )
    if facts.lake_around and state.record is None and not facts.is_inside:
        return Refuse(
            f"it lies in {facts.lake_around}, which is another lake",
            "Set LAKE_ASSETS_STATE to a folder that is in no lake",
        )
    if lake.record and lake.record.state.is_in_bucket and not state.place.is_in_bucket:
        return Refuse(
            f"this lake's state is kept in {lake.record.state.path}",
            "Set LAKE_ASSETS_STATE to that address; to have it in a folder from now on, delete "
            f"{lake.place.path}/_lake.json once nothing writes the lake",
        )
    if lake.record is None:
        return _of_unbound_lake(facts) if state.record is None else _by_state(facts, state.record)
    if state.record is None:
        return _by_lake(facts, lake.record)
    return _by_both(facts, lake.record, state.record)


def _by_both(facts: Facts, of_lake: Record, of_state: Record) -> Decision:
    lake, state = facts.lake.place, facts.state.place
    if of_lake.id != of_state.id:
        if of_state.replaces == of_lake.id and of_state.lake.is_same(lake):
            return Bind(of_state.id)  # what was cut off between the two sides
        return _of_two_lakes(facts, of_lake, of_state)
    if facts.lake_twin and facts.is_inside:
        return Bind(facts.new_id)  # a copy, with its state
    if facts.lake_twin:
        other = of_state.lake if of_lake.lake.is_same(lake) else of_lake.lake
        return Refuse(
            f"this lake and {other.path}, whose state it is, are copies of one another",
            f"Set LAKE_ASSETS_STATE to an empty folder for {lake.path}, or unset it",
        )
    if facts.state_twin:
        return Refuse(
            f"it is a copy of {of_lake.state.path}, which is this lake's state still",
            "Set LAKE_ASSETS_STATE to that one, or delete it if this one is to take its place",
        )
    # Noted again after each move: what lies in the lake may be lost, and what does not may not.
    is_noted = of_lake.lake.is_noted(lake) and of_lake.state.is_noted(state)
    return Bound(of_lake.id) if is_noted and of_lake == of_state else Bind(of_lake.id)


def _of_two_lakes(facts: Facts, of_lake: Record, of_state: Record) -> Refuse:
    lake, state = facts.lake.place, facts.state.place
    why = f"it is the state of {of_state.lake.path}, and this lake's is {of_lake.state.path}"
    if facts.is_inside:
        return Refuse(why, f"Delete {state.path}: the lake goes on from its own commits")
    return Refuse(
        why,
        "Set LAKE_ASSETS_STATE to this lake's own; if that is lost for good, delete "
        f"{lake.path}/_lake.json and name an empty folder",
    )


def _by_state(facts: Facts, of_state: Record) -> Decision:
    """The lake says nothing: was it about to, has it lost its record, or is it another?"""
    lake, state = facts.lake.place, facts.state.place
    is_its = of_state.lake.is_same if facts.is_inside else of_state.lake.is_untouched
    if is_its(lake):
        return Bind(of_state.id)
    is_former = of_state.lake.path == lake.path
    return Refuse(
        f"it is the state of {'what was at ' if is_former else ''}{of_state.lake.path}",
        "Set LAKE_ASSETS_STATE to an empty folder; or, if it is this lake's state all the same, "
        f"delete {state.path}/{'state' if state.is_in_bucket else 'lake'}.json",
    )


def _by_lake(facts: Facts, of_lake: Record) -> Decision:
    """The state folder is empty, or says nothing: is the lake's own lost, or only not here?"""
    lake, state = facts.lake.place, facts.state.place
    if facts.is_left_in_lake:
        return _left_in_lake(facts)
    if facts.lake_twin:
        return Bind(facts.new_id)  # a copy that came without: the other lake keeps it
    if facts.state_twin:
        return Refuse(
            f"this lake's state is {of_lake.state.path}",
            "Set LAKE_ASSETS_STATE to that folder, or move it here",
        )
    # What lay in the lake and is no longer there is nowhere else; what is a disk of its own, in the
    # lake or not, may only not be mounted, and another machine may be at it.
    was_inside = of_lake.state.is_below(of_lake.lake)
    is_lost = was_inside and of_lake.state.device == of_lake.lake.device
    if is_lost or of_lake.state.is_untouched(state):
        return Bind(of_lake.id)
    if lake.is_in_bucket and (state.is_in_bucket or not facts.state_there):
        # Whoever is at it on another machine has the lease, which asks no state folder.
        return Bind(of_lake.id)
    return Refuse(
        f"this lake's state is {of_lake.state.path}, which is not here or has lost its id",
        f"Mount it, or set LAKE_ASSETS_STATE to where it is now; if it is lost for good, delete "
        f"{lake.path}/_lake.json: the lake goes on from its own commits",
    )


def _of_unbound_lake(facts: Facts) -> Decision:
    """Neither says anything: both are new, or of an older release."""
    state = facts.state.place
    if facts.is_left_in_lake:
        return _left_in_lake(facts)
    if facts.state.is_damaged and not facts.is_inside:
        return Refuse(
            f"{state.path}/lake.json is damaged, so that nothing shows whose state it is",
            f"Delete that file if it is the state of {facts.lake.place.path}",
        )
    mine = [
        id_ for id_, place in facts.former if place.is_same(state) or place.is_same(facts.usual)
    ]
    if facts.former and not mine and not facts.is_inside:
        return Refuse(
            f"it was {facts.former[-1][1].path}, the state of another lake",
            "Set LAKE_ASSETS_STATE to an empty folder",
        )
    return Bind(mine[0] if mine else facts.new_id)


def _left_in_lake(facts: Facts) -> Refuse:
    return Refuse(
        f"this lake's state is {facts.usual.path} so far",
        f"Stop its streams and move that folder to {facts.state.place.path}, or delete it if "
        "nothing in it is wanted",
    )
