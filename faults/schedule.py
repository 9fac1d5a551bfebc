"""Which fault comes when: an order, pauses and durations that a seed fixes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Within which seconds are drawn."""

    quiet_s: tuple[float, float]
    """Between a recovery and the next fault. Some faults should meet streams that do nothing but
    stream, others such as hardly have begun."""

    lasts_s: tuple[float, float]
    """For which a fault is on. What is killed is away for so long, if nobody else starts it."""


LONG = Bounds(quiet_s=(0.5, 12.0), lasts_s=(0.5, 12.0))

QUICK = Bounds(quiet_s=(0.2, 1.5), lasts_s=(0.3, 2.0))


@dataclass(frozen=True, slots=True)
class Turn(Generic[_T]):
    """A fault's."""

    quiet_s: float
    what: _T
    lasts_s: float
    seed: int
    """Of what the fault itself draws: how much it draws does not change what comes after it."""


def turns(kinds: Sequence[_T], bounds: Bounds, random: Random) -> Iterator[Turn[_T]]:
    """Each kind once, in some order, then each once again, and so on without an end."""
    while kinds:
        for what in random.sample(kinds, len(kinds)):
            yield Turn(
                quiet_s=random.uniform(*bounds.quiet_s),
                what=what,
                lasts_s=random.uniform(*bounds.lasts_s),
                seed=random.randrange(2**32),
            )
