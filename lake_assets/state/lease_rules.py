"""Who may write a lake that several machines reach, by what its lease says and how it moves. Pure.

A lease is one small file in the lake. Its holder is everything on one machine that shares a state
folder: there locks keep processes apart, as in a lake on a disk. The holder writes a greater beat
into it now and then, and whoever else wants to write watches: a holder whose beat has stood still
for as long as the lease lasts, by the watcher's own clock, is taken for dead. No two clocks are
ever compared. That such a holder may wake up and write all the same is what fences are for
(`delta.fences`); reading and writing the file is `lease`'s.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """What the file says."""

    token: int
    """Greater with each holder."""

    holder: str
    """Whose it is; nobody else has this name."""

    place: str
    """Where that is, for people."""

    beat: int = 0
    """Greater with each renewal."""

    lasts_s: float
    """Seconds that the holder may go without a renewal."""

    is_fenced: bool = False
    """Whether no holder before this one can commit any more; until then this one must not."""

    is_released: bool = False
    """Whether its holder has ended, and writes no more."""

    @property
    def boot(self) -> str:
        """The machine, boot and container that its holder is in, as a process's."""
        return self.holder.partition("/")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """A lease as it was first seen in the state that it is in."""

    lease: Lease
    since: float
    """By the watcher's own clock, which never goes back, in seconds."""


@dataclass(frozen=True, slots=True)
class Take:
    """It is to be had: put this in its place."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody else has it."""

    watched: Watched
    seconds: float
    """Until its holder is taken for dead, if nothing moves."""


Decision: TypeAlias = Take | Wait


def decide(found: Lease | None, own: Lease, watched: Watched | None, now: float) -> Decision:
    """Whether a lease may be taken, or renewed.

    Args:
        found: the lease as it is; None if there never was one.
        own: who asks, and for how long; its token and beat do not count.
        watched: what this asker returned before, if it waits.
        now: by the asker's own clock, as `Watched.since`.
    """
    if found is None:
        return Take(_of(own, token=1, beat=0, is_fenced=True))
    if found.holder == own.holder and not found.is_released:
        return Take(_of(own, token=found.token, beat=found.beat + 1, is_fenced=found.is_fenced))
    if found.is_released:
        # Fences that its holder owed are owed still.
        return Take(_of(own, token=found.token + 1, beat=0, is_fenced=found.is_fenced))
    if watched is None or watched.lease != found:
        return Wait(Watched(lease=found, since=now), found.lasts_s)
    left = watched.since + found.lasts_s - now
    if left > 0:
        return Wait(watched, left)
    return Take(_of(own, token=found.token + 1, beat=0, is_fenced=False))


def _of(own: Lease, *, token: int, beat: int, is_fenced: bool) -> Lease:
    return Lease(
        token=token,
        holder=own.holder,
        place=own.place,
        beat=beat,
        lasts_s=own.lasts_s,
        is_fenced=is_fenced,
    )
